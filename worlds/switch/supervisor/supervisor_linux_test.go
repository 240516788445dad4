package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	softswitch "weir/worlds/switch"
	"weir/worlds/switch/control"
)

// TestUnreadableReply checks that a reply that cannot be read ends a reload, so that the next one is not delayed.
func TestUnreadableReply(t *testing.T) {
	for _, x := range []struct {
		name, want string
		next       *softswitch.Config
		busy       bool
	}{
		{"of a reload", "f: the data plane's response cannot be read, so it is unknown whether it uses the file\n",
			&softswitch.Config{}, false},
		{"while the file is read", "a response of the data plane cannot be read\n", nil, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			var said bytes.Buffer
			s := &supervisor{log: newLineWriter(&said), state: state{File: "f"}, reloading: true, next: x.next}
			s.handleReply(control.Reply{Is: control.IsUnreadable})
			if s.log.flush(t.Context()); said.String() != x.want || s.reloading != x.busy {
				t.Errorf("busy: %v; %q, want %q", s.reloading, said.String(), x.want)
			}
		})
	}
}

// TestDeathError_GivesReason checks that a data plane that ends by itself reports the reason, also without an error.
func TestDeathError_GivesReason(t *testing.T) {
	broken := errors.New("exit status 2")
	for _, x := range []struct {
		name, stderr string
		err          error
		want         string
	}{
		{"nothing", "", nil, "the data plane has ended without an error and without notice"},
		{"an exit code", "", broken, "the data plane has ended: exit status 2"},
		{"words", "no memory\n", broken, "the data plane has ended: no memory"},
		{"words and no error", "no memory\n", nil, "the data plane has ended: no memory"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := &child{stderr: &tail{}}
			fmt.Fprint(c.stderr, x.stderr)
			if got := c.deathError(x.err).Error(); got != x.want {
				t.Errorf("%q, want %q", got, x.want)
			}
		})
	}
}

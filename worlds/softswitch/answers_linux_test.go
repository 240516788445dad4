package softswitch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The largest answer that a data plane gives is shorter than what is read as one, and says how much it leaves out.
func TestAnswersAreBrief(t *testing.T) {
	worst := strings.Repeat("<", 1<<20) // six bytes each in JSON
	large := answer{Is: isReloaded, Text: worst, Notes: []string{strings.Repeat("ä", longestNote)}}
	for range 5000 {
		large.Notes = append(large.Notes, worst)
	}
	for _, x := range []struct {
		name string
		answer
	}{
		{"a text", answer{Is: isRefused, Text: worst}},
		{"notes", answer{Is: isReloaded, Notes: large.Notes}},
	} {
		t.Run(x.name, func(t *testing.T) {
			line, err := json.Marshal(x.brief())
			if err != nil || len(line) >= largestAnswer {
				t.Errorf("%d bytes, %v; %d are read", len(line), err, largestAnswer)
			}
		})
	}
	b := large.brief()
	if n := len(b.Notes); n != mostNotes+1 || b.Notes[n-1] != "and 4981 more" {
		t.Errorf("%d notes, the last: %q", n, b.Notes[n-1])
	}
	if want := strings.Repeat("ä", longestNote/2-2) + " …"; b.Notes[0] != want {
		t.Errorf("%d bytes: …%q", len(b.Notes[0]), b.Notes[0][len(b.Notes[0])-12:])
	}
	short := answer{Is: isReloaded, Notes: []string{"ecn begins now"}}
	if got := short.brief(); len(got.Notes) != 1 || got.Notes[0] != short.Notes[0] || got.Is != short.Is {
		t.Errorf("%v became %v", short, got)
	}
}

// What cannot be read is reported as such, and what comes after it is read.
func TestAnswersAreReadToTheirEnd(t *testing.T) {
	const last = `{"Is":"stopped","Left":3}` + "\n"
	large := `{"Is":"reloaded","Notes":["` + strings.Repeat("x", 100_000) + `"]}`
	for _, x := range []struct{ name, out, want string }{
		{"one", last, "stopped"},
		{"larger than 64 kB", large + "\n" + last, "reloaded stopped"},
		{"too long", strings.Repeat("x", 3*largestAnswer) + "\n" + last, "unreadable stopped"},
		{"too long by its end", strings.Repeat("x", largestAnswer) + "\n" + last, "unreadable stopped"},
		{"not JSON", "panic\n" + last, "unreadable stopped"},
		{"cut", last + `{"Is":"rel`, "stopped"},
		{"cut and too long", last + strings.Repeat("x", 2*largestAnswer), "stopped"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var got []string
			readAnswers(strings.NewReader(x.out), func(a answer) { got = append(got, a.Is) })
			if s := strings.Join(got, " "); s != x.want {
				t.Errorf("%s, want %s", s, x.want)
			}
		})
	}
}

// An answer that cannot be read ends a reload, so that the next one is not held up.
func TestUnreadableAnswer(t *testing.T) {
	for _, x := range []struct {
		name, want string
		next       *Config
		busy       bool
	}{
		{"of a reload", "f: the data plane's answer cannot be read: whether it has taken the file is not known\n", &Config{},
			false},
		{"while the file is read", "an answer of the data plane cannot be read\n", nil, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			var said bytes.Buffer
			s := &supervisor{log: newOutlet(&said), state: state{File: "f"}, busy: true, next: x.next}
			s.report(answer{Is: isUnreadable})
			if s.log.flush(t.Context()); said.String() != x.want || s.busy != x.busy {
				t.Errorf("busy: %v; %q, want %q", s.busy, said.String(), x.want)
			}
		})
	}
}

// A data plane that ends by itself says why, also without an error.
func TestDeath(t *testing.T) {
	broken := errors.New("exit status 2")
	for _, x := range []struct {
		name, stderr string
		err          error
		want         string
	}{
		{"nothing", "", nil, "the data plane has ended without an error, and has not said that it stops"},
		{"an exit code", "", broken, "the data plane has ended: exit status 2"},
		{"words", "no memory\n", broken, "the data plane has ended: no memory"},
		{"words and no error", "no memory\n", nil, "the data plane has ended: no memory"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := &child{stderr: &tail{}}
			fmt.Fprint(c.stderr, x.stderr)
			if got := c.death(x.err).Error(); got != x.want {
				t.Errorf("%q, want %q", got, x.want)
			}
		})
	}
}

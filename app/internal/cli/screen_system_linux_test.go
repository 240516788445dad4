//go:build system

package cli

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestScreenOfTerminal checks that a terminal's width is used, and its colours, unless NO_COLOR or a dumb terminal
// forbid them.
func TestScreenOfTerminal(t *testing.T) {
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there is no terminal: %v", err)
	}
	defer near.Close()
	if err := unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("there is no terminal: %v", err)
	}
	n, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skipf("there is no terminal: %v", err)
	}
	far, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there is no terminal: %v", err)
	}
	defer far.Close()
	for _, c := range []struct {
		name string
		col  uint16
		env  map[string]string
		want screenStyle
	}{
		{"wide", 132, nil, screenStyle{132, true}},
		{"NO_COLOR", 132, map[string]string{"NO_COLOR": "1"}, screenStyle{132, false}},
		{"empty NO_COLOR", 132, map[string]string{"NO_COLOR": ""}, screenStyle{132, true}},
		{"dumb", 132, map[string]string{"TERM": "dumb"}, screenStyle{132, false}},
		{"COLUMNS", 132, map[string]string{"COLUMNS": "60"}, screenStyle{60, true}},
		{"wrong COLUMNS", 132, map[string]string{"COLUMNS": "0"}, screenStyle{132, true}},
		{"unknown", 0, nil, screenStyle{0, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := unix.IoctlSetWinsize(int(far.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: c.col}); err != nil {
				t.Fatal(err)
			}
			if got := detectScreen(far, func(key string) string { return c.env[key] }); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

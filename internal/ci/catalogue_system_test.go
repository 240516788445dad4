//go:build system

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestCatalogueContinues checks that results count as finished only after exit code 0. After another exit code, a
// second call runs the program again.
func TestCatalogueContinues(t *testing.T) {
	for _, x := range []struct {
		end      string
		finished bool
	}{{"exit 0", true}, {"exit 3", false}, {"exit 1", false}, {"exit 2", false}, {"exit 130", false},
		{"kill -9 $$", false}} {
		t.Run(x.end, func(t *testing.T) {
			p := program{folder: t.TempDir()}
			p.binary = filepath.Join(p.folder, "weir")
			const script = "#!/bin/sh\nmkdir -p \"$4/a-1\"\necho '{\"runs\":[]}' >\"$4/a-1/runs.json\"\n%s\n"
			for i, end := range []string{x.end, "exit 0"} {
				if err := os.WriteFile(p.binary, fmt.Appendf(nil, script, end), 0o777); err != nil {
					t.Fatal(err)
				}
				_, err := p.readResults("abc/a", false)
				if want := x.finished || i == 1; (err == nil) != want {
					t.Errorf("call %d: error %v, want success: %v", i+1, err, want)
				}
				if i == 0 && isInterrupted(err) != (x.end == "exit 130" || x.end == "kill -9 $$") {
					t.Errorf("interrupted: %v (%v)", isInterrupted(err), err)
				}
			}
		})
	}
}

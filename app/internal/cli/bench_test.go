package cli

import (
	"bytes"
	"strings"
	"testing"
	"weir/internal/command"
)

// TestBenchSwitchRefuses checks that impossible options of bench switch are reported as wrong input.
func TestBenchSwitchRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"switch --runs 101":     "1 to 100 runs",
		"switch --time 1ms":     "0.1 s to 60 s",
		"engine --runs 3":       "--runs and --time do not apply to this benchmark",
		"tcp --time 3s":         "--runs and --time do not apply to this benchmark",
		"switches":              "must be one of",
		"switch --time forever": "--time",
	} {
		t.Run(args, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Run(Registry(), append([]string{"bench"}, strings.Fields(args)...), &out, &errs,
				false); code != command.WrongInput || !strings.Contains(errs.String(), want) {
				t.Errorf("exit code %d, %s", code, errs.String())
			}
		})
	}
}

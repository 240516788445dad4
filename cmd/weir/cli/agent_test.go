package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// What weir agent is told wrong is an error that says what is possible, before anything is loaded.
func TestAgentInput(t *testing.T) {
	for _, x := range []struct{ args, says string }{
		{"", "--interface NAME or --cgroup PATH is missing"},
		{"--interface no-such-one --eta 200%", "0.01 to 1 are possible"},
		{"--interface no-such-one --eta fast", "--eta"},
		{"--interface no-such-one --flows 0", "1 to 65536 are possible"},
		{"--interface no-such-one --rtt 10", "--rtt"},
		{"--interface no-such-one --rtt 5s", "0s to 1s are possible"},
		{"--interface no-such-one --rate fast", "--rate"},
		{"--interface no-such-one --increase -1B", "increase"},
		{"--interface no-such-one --every=-1s", "0s or more are possible"},
		{"--interface no-such-one --metrics nowhere", "--metrics"},
	} {
		var out, errs bytes.Buffer
		code := Run(Registry(), append([]string{"agent"}, strings.Fields(x.args)...), &out, &errs, false)
		if code != WrongInput || !strings.Contains(errs.String(), x.says) || out.Len() > 0 {
			t.Errorf("weir agent %s: %d, %s%s, want %q", x.args, code, &out, &errs, x.says)
		}
	}
	var errs bytes.Buffer
	code := Run(Registry(), []string{"agent", "--interface", "no-such-one"}, &errs, &errs, false)
	if root := os.Geteuid() == 0; root && code != WrongInput && !strings.Contains(errs.String(), "not on this machine") ||
		!root && code != RunFailed {
		t.Errorf("an interface that there is not: %d, %s", code, &errs)
	}
}

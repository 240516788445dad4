package cli

import (
	"bytes"
	"strings"
	"testing"
	"weir/internal/command"
)

// TestAgentInput checks that wrong options of weir agent are errors with the allowed values, before anything is loaded.
func TestAgentInput(t *testing.T) {
	for _, x := range []struct{ args, says string }{
		{"", "--interface NAME or --cgroup PATH is missing"},
		{"--interface no-such-one --eta 200%", "--eta: 2 is out of range; allowed: 0.01 to 1"},
		{"--interface no-such-one --eta fast", "--eta"},
		{"--interface no-such-one --flows 0", "--flows: 0 is out of range; allowed: 1 to 65536"},
		{"--interface no-such-one --max-stage=-1", "--max-stage: -1 is out of range; allowed: 0 to 1048576"},
		{"--interface no-such-one --max-stage 1048577", "--max-stage: 1048577 is out of range; allowed: 0 to 1048576"},
		{"--interface no-such-one --max-stage five", "--max-stage"},
		{"--interface no-such-one --follow ncf --max-stage 0", "--max-stage: no effect"},
		{"--interface no-such-one --rtt 10", "--rtt"},
		{"--interface no-such-one --rtt 5s", "--rtt: 5s is out of range; allowed: up to 1s"},
		{"--interface no-such-one --rate fast", "--rate"},
		{"--interface no-such-one --increase -1B", "increase"},
		{"--interface no-such-one --follow rcp", "allowed: hpcc, ncf, both"},
		{"--interface no-such-one --follow ncf --nacks resend", "allowed: loss, supply"},
		{"--interface no-such-one --every=-1s", "--every -1s is too short; allowed: 0s (no table), or 10ms and more"},
		{"--interface no-such-one --every 0.1ms", "--every 100µs is too short; allowed: 0s (no table), or 10ms and more"},
		{"--interface no-such-one --rate 0bps", "--rate 0bps is too small; allowed: above 0bps"},
		{"--interface no-such-one --rtt 0s", "--rtt 0s is too small; allowed: above 0s"},
		{"--interface no-such-one --increase 0B", "--increase 0B is too small; allowed: above 0B"},
		{"--interface no-such-one --eta 0%", "--eta: 0 is out of range; allowed: 0.01 to 1"},
		{"--interface no-such-one --nacks supply", "--nacks: supply has no effect"},
		{"--interface no-such-one --nacks=", "--nacks is empty; allowed: loss, supply"},
		{"--interface no-such-one --flows 4 --increase 1kB", "--flows and --increase exclude each other"},
		{"--interface no-such-one --follow ncf --eta 0.5 --rtt 3ms --rate 1Mbps", "--eta, --rtt, --rate: no effect with " +
			"--follow ncf; use --follow hpcc or both"},
		{"--interface no-such-one --follow ncf --increase 1kB", "--increase: no effect"},
		{"--interface no-such-one --follow ncf --flows 8", "--flows: no effect"},
		{"--interface no-such-one --metrics nowhere", "--metrics"},
	} {
		var out, errs bytes.Buffer
		code := Run(Registry(), append([]string{"agent"}, strings.Fields(x.args)...), &out, &errs, false)
		if code != command.WrongInput || !strings.Contains(errs.String(), x.says) || out.Len() > 0 {
			t.Errorf("weir agent %s: %d, %s%s, want %q", x.args, code, &out, &errs, x.says)
		}
	}
	all := []string{"--interface NAME or --cgroup PATH is missing", "--every 1ms is", "--eta, --flows: no effect",
		"--eta: 7 is",
		"--flows: 0 is", "--nacks: \"twice\""}
	var errs bytes.Buffer
	code := Run(Registry(), strings.Fields("agent --every 1ms --follow ncf --eta 7 --flows 0 --nacks twice"), &errs, &errs,
		false)
	for _, says := range all {
		if code != command.WrongInput || !strings.Contains(errs.String(), says) {
			t.Errorf("of all at once there is no %s: %d, %s", says, code, &errs)
		}
	}
}

package cli

import (
	"bytes"
	"strings"
	"testing"
)

// What weir agent is told wrong is an error that says what is possible, before anything is loaded.
func TestAgentInput(t *testing.T) {
	for _, x := range []struct{ args, says string }{
		{"", "--interface NAME or --cgroup PATH is missing"},
		{"--interface no-such-one --eta 200%", "--eta: 2; 0.01 to 1 are possible"},
		{"--interface no-such-one --eta fast", "--eta"},
		{"--interface no-such-one --flows 0", "--flows: 0; 1 to 65536 are possible"},
		{"--interface no-such-one --max-stage=-1", "--max-stage: -1; 0 to 1048576 are possible"},
		{"--interface no-such-one --max-stage 1048577", "--max-stage: 1048577; 0 to 1048576 are possible"},
		{"--interface no-such-one --max-stage five", "--max-stage"},
		{"--interface no-such-one --follow ncf --max-stage 0", "--max-stage with --follow ncf"},
		{"--interface no-such-one --rtt 10", "--rtt"},
		{"--interface no-such-one --rtt 5s", "--rtt: 5s; up to 1s is possible"},
		{"--interface no-such-one --rate fast", "--rate"},
		{"--interface no-such-one --increase -1B", "increase"},
		{"--interface no-such-one --follow rcp", "hpcc, ncf and both are possible"},
		{"--interface no-such-one --follow ncf --nacks resend", "loss and supply are possible"},
		{"--interface no-such-one --every=-1s", "--every -1s; 0s, for never, and 10ms or more are possible"},
		{"--interface no-such-one --every 0.1ms", "--every 100µs; 0s, for never, and 10ms or more are possible"},
		{"--interface no-such-one --rate 0bps", "--rate 0bps; more than 0bps is possible"},
		{"--interface no-such-one --rtt 0s", "--rtt 0s; more than 0s is possible"},
		{"--interface no-such-one --increase 0B", "--increase 0B; more than 0B is possible"},
		{"--interface no-such-one --eta 0%", "--eta: 0; 0.01 to 1 are possible"},
		{"--interface no-such-one --nacks supply", "--nacks: supply, but NACKs are not followed; they are with ncf or both"},
		{"--interface no-such-one --nacks=", "--nacks is empty; loss and supply are possible"},
		{"--interface no-such-one --flows 4 --increase 1kB", "--flows with --increase, which is in place"},
		{"--interface no-such-one --follow ncf --eta 0.5 --rtt 3ms --rate 1Mbps", "--eta, --rtt, --rate with --follow ncf, " +
			"which has nothing of HPCC++; they are possible with --follow hpcc or both"},
		{"--interface no-such-one --follow ncf --increase 1kB", "--increase with --follow ncf"},
		{"--interface no-such-one --follow ncf --flows 8", "--flows with --follow ncf"},
		{"--interface no-such-one --metrics nowhere", "--metrics"},
	} {
		var out, errs bytes.Buffer
		code := Run(Registry(), append([]string{"agent"}, strings.Fields(x.args)...), &out, &errs, false)
		if code != exitWrongInput || !strings.Contains(errs.String(), x.says) || out.Len() > 0 {
			t.Errorf("weir agent %s: %d, %s%s, want %q", x.args, code, &out, &errs, x.says)
		}
	}
	all := []string{"--interface NAME or --cgroup PATH is missing", "--every 1ms;", "--eta, --flows with --follow ncf",
		"--eta: 7;",
		"--flows: 0;", "--nacks: \"twice\""}
	var errs bytes.Buffer
	code := Run(Registry(), strings.Fields("agent --every 1ms --follow ncf --eta 7 --flows 0 --nacks twice"), &errs, &errs,
		false)
	for _, says := range all {
		if code != exitWrongInput || !strings.Contains(errs.String(), says) {
			t.Errorf("of all at once there is no %s: %d, %s", says, code, &errs)
		}
	}
}

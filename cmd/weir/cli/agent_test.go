package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/worlds/agent"
)

// What weir agent is told wrong is an error that says what is possible, before anything is loaded.
func TestAgentInput(t *testing.T) {
	for _, x := range []struct{ args, says string }{
		{"", "--interface NAME or --cgroup PATH is missing"},
		{"--interface no-such-one --eta 200%", "--eta: 2; 0.01 to 1 are possible"},
		{"--interface no-such-one --eta fast", "--eta"},
		{"--interface no-such-one --flows 0", "--flows: 0; 1 to 65536 are possible"},
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
		if code != WrongInput || !strings.Contains(errs.String(), x.says) || out.Len() > 0 {
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
		if code != WrongInput || !strings.Contains(errs.String(), says) {
			t.Errorf("of all at once there is no %s: %d, %s", says, code, &errs)
		}
	}
	errs.Reset()
	code = Run(Registry(), []string{"agent", "--interface", "no-such-one"}, &errs, &errs, false)
	if root := os.Geteuid() == 0; root && code != WrongInput && !strings.Contains(errs.String(), "not on this machine") ||
		!root && code != RunFailed {
		t.Errorf("an interface that there is not: %d, %s", code, &errs)
	}
}

// A cgroup that is none is told from one of version 1, and from none at all, beside whatever else is wrong.
func TestAgentCgroup(t *testing.T) {
	if err := agent.Probe().Check(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	file, fake := filepath.Join(dir, "file"), filepath.Join(dir, "cgroup.procs")
	for _, name := range []string{file, fake} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	below := "below " + agent.Probe().Cgroup
	type row struct{ path, says string }
	rows := []row{{filepath.Join(dir, "none"), "is no folder; cgroups are " + below}, {file, "is no folder; "},
		{dir, "is no cgroup; they are " + below}, {"", "--interface NAME or --cgroup PATH is missing"}}
	if v1 := version1(t); v1 != "" {
		rows = append(rows, row{v1, "is of version 1, where no programs of sockets are attached; those of version 2 are " +
			below})
	} else {
		t.Log("no cgroup of version 1 is mounted here")
	}
	for _, x := range rows {
		var out, errs bytes.Buffer
		code := Run(Registry(), []string{"agent", "--cgroup", x.path}, &out, &errs, false)
		if code != WrongInput || !strings.Contains(errs.String(), x.says) || out.Len() > 0 {
			t.Errorf("weir agent --cgroup %s: %d, %s%s, want %q", x.path, code, &out, &errs, x.says)
		}
	}
	var errs bytes.Buffer
	code := Run(Registry(), []string{"agent", "--cgroup", file, "--interface", "no-such-one"}, &errs, &errs, false)
	if said := errs.String(); code != WrongInput || !strings.Contains(said, "is no folder") ||
		!strings.Contains(said, "there is no interface no-such-one") {
		t.Errorf("both: %d, %s", code, said)
	}
}

// version1 is where a hierarchy of version 1 is mounted; "": nowhere.
func version1(t *testing.T) string {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if x := strings.Fields(line); len(x) > 2 && x[2] == "cgroup" {
			return x[1]
		}
	}
	return ""
}

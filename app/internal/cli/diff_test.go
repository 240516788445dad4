package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"weir/internal/command"
)

// TestDiffOfCompletions checks weir diff of results and a fct.txt: as a table, as a JSON document, and with --check
// as an exit code. The list of the other side is written by hand. In one test it is a quarter longer than what the
// run gives.
func TestDiffOfCompletions(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("e.yaml", `duration: 1ms
framing: hpcc
mtu: 1000 B payload
topology: {star: {hosts: 2, rate: 100Gbps, delay: 1us}}
switch: [ecmp]
traffic: [{name: one, from: h0, to: h1, size: 1000 B, start: 2us, transport: rdma, cc: none}]
`)
	call := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := Run(Registry(), args, &out, &errs, false)
		return code, out.String(), errs.String()
	}
	if code, _, errs := call("run", "e.yaml"); code != command.Done {
		t.Fatal(errs)
	}
	// standalone: 4000 + 2·80 + 1048·8/100; with the telemetry's 42 bytes and an ACK of 88 it is less than 4243
	write("same.txt", "0b000001 0b000101 10000 100 1000 2000002000 4188 4243\n")
	write("longer.txt", "0b000001 0b000101 10000 100 1000 2000002000 5300 4243\n")
	write("two.txt", "0b000001 0b000101 10000 100 1000 2000002000 4188 4243\n"+
		"0b000001 0b000101 10001 100 1000 2000002000 4188 4243\n")
	write("zero.txt", "0b000001 0b000101 10000 100 1000 2000002000 0 4243\n")
	write("damaged.txt", "0b000001 0b000101 10000 100 1000 2000002000 5300\n")
	for _, x := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"same", []string{"e.yaml", "same.txt", "--check"}, command.Done,
			"A and B agree: 1 of 1 bins within p50 ±5 %, p99 ±20 %"},
		{"longer", []string{"e.yaml", "longer.txt"}, command.Done, "A and B differ: 0 of 1 bins"},
		{"checked", []string{"longer.txt", "e.yaml", "--check"}, command.ClaimFailed, "A and B differ: 0 of 1 bins"},
		{"wide", []string{"e.yaml", "longer.txt", "--p50", "30%", "--p95", "30%", "--p99", "off", "--check"}, command.Done,
			"within p50 ±30 %, p95 ±30 %"},
		{"files", []string{"same.txt", "longer.txt", "--check"}, command.ClaimFailed, "1 flows in common"},
		{"one is missing", []string{"two.txt", "e.yaml", "--check"}, command.ClaimFailed,
			"1 of 2 flows are on one side only; 0 % may be"},
		{"one may be missing", []string{"two.txt", "e.yaml", "--check", "--unpaired", "50%"}, command.Done,
			"A and B agree: 1 of 1"},
		{"no time", []string{"e.yaml", "zero.txt"}, command.WrongInput, "zero.txt:1:45: the completion time is \"0\""},
		{"too large a share", []string{"e.yaml", "same.txt", "--unpaired", "101%"}, command.WrongInput,
			`--unpaired is "101%"`},
		{"port", []string{"same.txt", "longer.txt", "--port", "200"}, command.Done, "0 flows in common"},
		{"damaged", []string{"e.yaml", "damaged.txt"}, command.WrongInput, "damaged.txt:1:49: the line ends after 7 of 8"},
		{"share", []string{"e.yaml", "same.txt", "--p99", "x"}, command.WrongInput, `--p99 is "x"`},
		{"bins", []string{"e.yaml", "same.txt", "--bins", "0"}, command.WrongInput, "--bins is 0"},
		{"two results", []string{"e.yaml", "e.yaml", "--check"}, command.WrongInput, "are only for comparisons with an " +
			"fct.txt"},
		{"old", []string{"e.yaml", "e.yaml"}, command.Done, "0 values differ"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if code, out, errs := call(append([]string{"diff"}, x.args...)...); code != x.code ||
				!strings.Contains(out+errs, x.want) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", code, x.code, x.want, out, errs)
			}
		})
	}
	_, out, _ := call("diff", "e.yaml", "longer.txt", "--json")
	var c struct {
		Agree bool
		Bins  []struct {
			A     struct{ P50 float64 }
			Ratio struct{ P50 float64 }
		}
	}
	if err := json.Unmarshal([]byte(out), &c); err != nil || c.Agree || len(c.Bins) != 1 || c.Bins[0].A.P50 != 1 ||
		c.Bins[0].Ratio.P50 != 5300./4243 {
		t.Errorf("%v: %s", err, out)
	}
}

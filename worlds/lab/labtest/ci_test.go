package labtest

import (
	"os/exec"
	"strings"
	"testing"
)

// What CI makes of the output of go test -v (.ci/lab.awk): it prints which of the lab's tests
// ran and which were skipped and why; as root a skip is an error, also that of a part of a
// test, but for those that the machine disturbed.
func TestCI(t *testing.T) {
	const (
		passed  = "=== RUN   TestA\n--- PASS: TestA (0.10s)\n"
		skipped = "=== RUN   TestB\n    b_test.go:3: needs root: it makes namespaces\n--- SKIP: TestB (0.00s)\n"
		shaken  = "=== RUN   TestC\n    c_test.go:4: disturbed: the machine disturbed all 5 runs\n--- SKIP: TestC (9.00s)\n"
		part    = "=== RUN   TestD\n=== RUN   TestD/50\n    d_test.go:5: %s\n=== RUN   TestD/200\n--- PASS: TestD " +
			"(2.00s)\n    --- SKIP: TestD/50 (1.00s)\n    --- PASS: TestD/200 (1.00s)\n"
		failed = "=== RUN   TestE\n    e_test.go:6: 1 instead of 2\n--- FAIL: TestE (0.00s)\nFAIL\n"
		ok     = "PASS\nok  \tweir/worlds/lab\t3.000s\n"
		other  = "PASS\nok  \tweir/worlds/sim\t3.000s\n"
	)
	needsIPerf, shook := strings.Replace(part, "%s", "needs iperf3", 1), strings.Replace(part, "%s",
		"disturbed: all 5 runs", 1)
	for _, x := range []struct {
		name, in string
		root     string
		bad      bool
		want     []string
		not      string
	}{
		{"all ran", passed + ok, "1", false, []string{"PASS: TestA (0.10s)", "ok  \tweir/worlds/lab",
			"of the lab and the guard: 1 tests ran, 0 were skipped"}, "skipped as root"},
		{"without root", passed + skipped + ok, "0", false, []string{"SKIP: TestB", "needs root: it makes namespaces",
			"1 tests ran, 1 were skipped"}, "skipped as root"},
		{"skipped as root", passed + skipped + ok, "1", true, []string{"skipped as root: TestB: b_test.go:3: needs root"},
			"TestA:"},
		{"disturbed", passed + shaken + ok, "1", false, []string{"1 tests ran, 1 were skipped",
			"1 of them because the machine disturbed every attempt"}, "skipped as root"},
		{"not by the machine", passed + strings.Replace(skipped, "needs root", "was not disturbed: needs root", 1) + ok, "1",
			true, []string{"skipped as root: TestB"}, "because the machine"},
		{"a part", needsIPerf + ok, "1", true, []string{"SKIP: TestD/50",
			"skipped as root: TestD/50: d_test.go:5: needs iperf3"}, "TestD/200:"},
		{"a disturbed part", shook + skipped + ok, "1", true, []string{"2 were skipped", "1 of them because the machine",
			"skipped as root: TestB: b_test.go:3: needs root"}, "root: TestD"},
		{"elsewhere", passed + skipped + other + passed + ok, "1", false, []string{"1 tests ran, 0 were skipped",
			"ok  \tweir/worlds/sim"}, "SKIP: TestB"},
		{"nothing ran", other, "1", true, []string{"0 tests ran"}, "PASS: "},
		{"failed", passed + failed + "FAIL\tweir/worlds/sim\t1.000s\n" + passed + ok, "0", true, []string{"1 instead of 2",
			"FAIL\tweir/worlds/sim"}, "skipped as root"},
		{"not built", "FAIL\tweir/worlds/sim [build failed]\n" + passed + ok, "0", true, []string{"[build failed]"},
			"skipped as root"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := exec.Command("awk", "-v", "root="+x.root, "-f", "../../../.ci/lab.awk")
			c.Stdin = strings.NewReader(x.in)
			out, err := c.CombinedOutput()
			if _, ended := err.(*exec.ExitError); err != nil && !ended {
				t.Fatal(err)
			}
			text := strings.Join(strings.Fields(string(out)), " ")
			for _, w := range x.want {
				if !strings.Contains(text, strings.Join(strings.Fields(w), " ")) {
					t.Errorf("it lacks %q:\n%s", w, out)
				}
			}
			if (err != nil) != x.bad || strings.Contains(text, x.not) {
				t.Errorf("error %v, %q:\n%s", err, x.not, out)
			}
		})
	}
}

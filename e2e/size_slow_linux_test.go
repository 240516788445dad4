//go:build slow

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/worlds/sim"
)

// sizeOf is the environment variable that makes a process of this test execute a single run.
const sizeOf = "WEIR_SIZE"

// TestLargeRuns checks that large runs stay within their memory. The runs are a permutation of 100 kB among 8,192
// and 65,536 hosts, and a ring all-reduce of 16 MiB among 1,024, which has 2,095,104 flows of 16 KiB. Each runs in
// a separate process, because its peak is measured.
func TestLargeRuns(t *testing.T) {
	for _, x := range []struct {
		name    string
		k       int
		traffic string
		flows   int
		most    float64 // bytes at the peak
	}{
		{"8192 hosts", 32, `from: "h*", to: permutation, size: 100kB`, 8192, 0.8e9},
		{"65536 hosts", 64, `from: "h*", to: permutation, size: 100kB`, 65536, 6e9},
		{"ring of 1024 hosts", 16, `job: {all_reduce_flows: {algorithm: ring, size: 16MiB}}, hosts: "h*"`, 2_095_104, 2e9},
	} {
		t.Run(x.name, func(t *testing.T) {
			if os.Getenv(sizeOf) != "" {
				r, err := sim.Run(large(t, x.k, x.traffic))
				if err != nil || r.End != outcome.AllDone || len(r.Flows) != x.flows {
					t.Fatalf("%d flows, %+v, %v", len(r.Flows), r.End, err)
				}
				fmt.Printf("peak %d\n", peakMemory(t))
				return
			}
			c := exec.Command(os.Args[0], "-test.run=^TestLargeRuns$/^"+strings.ReplaceAll(x.name, " ", "_")+"$")
			c.Env = append(os.Environ(), sizeOf+"=1")
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			_, after, _ := strings.Cut(string(out), "peak ")
			peak, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("peak %.2f GB", peak/1e9)
			if peak > x.most {
				t.Errorf("%.2f GB at the peak; %.1f are expected at most", peak/1e9, x.most/1e9)
			}
		})
	}
}

// peakMemory returns the largest resident set of this process so far, in bytes.
func peakMemory(t testing.TB) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(data), "VmHWM:")
	kb, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb * 1024
}

package main

import (
	"encoding/json"
	"math"
	"os/exec"
	"slices"
	"testing"
)

// domainDocument is what the test reads of --json.
type domainDocument struct {
	Runs []struct {
		Point    map[string]string `json:"point"`
		Attempts []struct {
			Errors    []string `json:"errors"`
			Disturbed []string `json:"disturbed"`
		} `json:"attempts"`
	} `json:"runs"`
	Agreement []struct {
		Point   map[string]string `json:"point"`
		Measure string            `json:"measure"`
		Group   string            `json:"group"`
		Sim     float64           `json:"simulator"`
		Lab     float64           `json:"lab"`
	} `json:"agreement"`
}

// Domains of P4-ABC between unmodified hosts of Linux, whose TCP crosses them in both directions: what each user gets
// is what it gets in the simulator, where the machine is not disturbed; in no case does a mark stop anybody.
func TestDomainsOnLab(t *testing.T) {
	needRoot(t)
	binary := build(t)
	for name, users := range map[string][]string{"p4abc/domain": {"client0", "client1"},
		"p4abc/domain-two": {"far", "near1", "near2"}} {
		t.Run(name, func(t *testing.T) {
			data, err := exec.Command(binary, "run", name, "--quick", "--set", "duration=6s", "--set", "warmup=2s",
				"--on", "lab",
				"--out", t.TempDir(), "--attempts", "1", "--json").Output()
			if err != nil {
				t.Fatalf("%v: %s", err, said(err))
			}
			var doc domainDocument
			if err := json.Unmarshal(data, &doc); err != nil {
				t.Fatal(err)
			}
			disturbed, seen := false, 0
			for _, r := range doc.Runs {
				for _, a := range r.Attempts {
					disturbed = disturbed || len(a.Disturbed) > 0
					if len(a.Errors) > 0 {
						t.Errorf("%v: %v", r.Point, a.Errors)
					}
				}
			}
			for _, a := range doc.Agreement {
				if a.Point["scheme"] != "abc" || a.Measure != "goodput_bps" || !slices.Contains(users, a.Group) {
					continue
				}
				seen++
				t.Logf("%v %s: %.1f Mb/s in the simulator, %.1f in the lab", a.Point, a.Group, a.Sim/1e6, a.Lab/1e6)
				switch {
				case a.Lab < 2e6: // whatever else the machine does meanwhile
					t.Errorf("%v: %s gets %.1f Mb/s", a.Point, a.Group, a.Lab/1e6)
				case !disturbed && math.Abs(a.Lab-a.Sim) > 0.1*a.Sim:
					t.Errorf("%v: %s gets %.1f Mb/s in the simulator, %.1f in the lab", a.Point, a.Group, a.Sim/1e6, a.Lab/1e6)
				}
			}
			if seen == 0 || seen%len(users) != 0 {
				t.Errorf("%d values of %v", seen, users)
			}
			if disturbed {
				t.Log("the machine disturbed it: how near both worlds are is not judged")
			}
		})
	}
}

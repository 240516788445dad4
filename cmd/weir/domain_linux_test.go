package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// domainDocument is what the test reads of --json.
type domainDocument struct {
	Runs []struct {
		Point    map[string]string `json:"point"`
		Attempts []struct {
			Errors    []string `json:"errors"`
			Disturbed []string `json:"disturbed"`
			Upset     float64  `json:"upset"`
			Waited    float64  `json:"hosts_waited"`
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

// domainTime is after what time one attempt of a point must do.
const domainTime = 120 * time.Second

// Domains of P4-ABC between unmodified hosts of Linux, whose TCP crosses them in both directions, over IPv4 and IPv6,
// and where links inside have no more room than those outside: what each user gets is what it gets in the simulator,
// where the machine is not disturbed; in no case does a mark stop anybody.
func TestDomainsOnLab(t *testing.T) {
	needRoot(t)
	binary, begin, judged, seen := build(t), time.Now(), 0, 0
	for _, x := range []struct {
		name  string
		users []string
		set   []string
	}{
		{"p4abc/domain", []string{"client0", "client1"}, []string{"scheme=abc"}},
		{"p4abc/domain", []string{"client0", "client1"}, []string{"scheme=narrow", narrowDirections}},
		{"p4abc/domain-two", []string{"far", "near1", "near2"}, []string{"scheme=abc"}},
		{"p4abc/domain-edges", []string{"eight", "one"}, []string{"scheme=abc"}},
	} {
		t.Run(x.name+" "+x.set[0], func(t *testing.T) {
			attempts := domainAttempts
			if time.Since(begin) > domainTime {
				attempts = 1
			}
			args := []string{"run", x.name, "--quick", "--set", "duration=6s", "--set", "warmup=2s", "--on", "lab", "--out",
				t.TempDir(), "--attempts", fmt.Sprint(attempts), "--json"}
			for _, s := range x.set {
				args = append(args, "--set", s)
			}
			data, err := exec.Command(binary, args...).Output()
			if err != nil {
				t.Fatalf("%v: %s", err, said(err))
			}
			var doc domainDocument
			if err := json.Unmarshal(data, &doc); err != nil {
				t.Fatal(err)
			}
			j, n := doc.judge(t, x.users)
			judged, seen = judged+j, seen+n
		})
	}
	judgedEnough(t, judged, seen)
}

// judgedEnough says how many of the points were judged: with none nothing was tested, and with too few too little.
func judgedEnough(t *testing.T, judged, seen int) {
	t.Helper()
	switch t.Logf("%d of %d points judged", judged, seen); {
	case seen == 0:
		t.Error("no points")
	case judged == 0:
		t.Skipf("disturbed: none of %d points was judged", seen)
	case float64(judged) < domainPart*float64(seen):
		t.Errorf("only %d of %d points are judged: the machine disturbed the others", judged, seen)
	}
}

// judge compares the two worlds at each point that had an attempt without disturbance, and says which had none. It
// returns how many of how many points were judged.
func (doc *domainDocument) judge(t *testing.T, users []string) (judged, points int) {
	quiet, upset, seen := map[string]bool{}, map[string]bool{}, 0
	for _, r := range doc.Runs {
		for _, a := range r.Attempts {
			if len(a.Errors) > 0 {
				t.Errorf("%v: %v", r.Point, a.Errors)
			}
			quiet[fmt.Sprint(r.Point)] = len(a.Disturbed) == 0 // the last one counts
			upset[fmt.Sprint(r.Point)] = a.Upset > 0 || a.Waited > 0
		}
		if n := len(r.Attempts); quiet[fmt.Sprint(r.Point)] {
			judged++
		} else if n > 0 {
			t.Logf("%v is NOT JUDGED: the machine disturbed each of %d attempts: %v", r.Point, n,
				r.Attempts[n-1].Disturbed)
		}
	}
	for _, a := range doc.Agreement {
		if a.Measure != "goodput_bps" || !slices.Contains(users, a.Group) {
			continue
		}
		seen++
		at := fmt.Sprint(a.Point)
		t.Logf("%s %s: %.1f Mb/s in the simulator, %.1f in the lab: %+.1f %%", at, a.Group, a.Sim/1e6, a.Lab/1e6,
			100*(a.Lab/a.Sim-1))
		if a.Lab < 2e6 { // whatever else the machine does meanwhile
			t.Errorf("%s: %s gets %.1f Mb/s", at, a.Group, a.Lab/1e6)
		}
		switch undisturbed, known := quiet[at]; {
		case !known:
			t.Errorf("no attempts at %s", at)
		case undisturbed && !upset[at] && math.Abs(a.Lab-a.Sim) > 0.1*a.Sim, // a stall costs TCP more than its time
			undisturbed && math.Abs(a.Lab-a.Sim) > 0.2*a.Sim:
			t.Errorf("%s: %s gets %.1f Mb/s in the simulator, %.1f in the lab", at, a.Group, a.Sim/1e6, a.Lab/1e6)
		}
	}
	if seen == 0 || seen%len(users) != 0 {
		t.Errorf("%d values of %v", seen, users)
	}
	return judged, len(doc.Runs)
}

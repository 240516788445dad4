package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
)

// P4TE between unmodified hosts of Linux: windows that the leaf rewrites in passing ACKs hold a class at the committed
// rate, and traffic moves off a spine's link that goes down, by as much as in the simulator. Where the machine is
// disturbed, only wider bounds are asked.
func TestP4TEOnLab(t *testing.T) {
	needRoot(t)
	binary, judged, seen := build(t), 0, 0
	for _, x := range []struct {
		name, set string
		groups    []string
		low, high float64 // of the simulator's goodput, whatever the machine does
	}{
		{"p4te/lab", "scheme=[ecmp, enforced, share]", []string{"bulk"}, 0.7, 1.1},
		{"p4te/lab-failure", "scheme=p4te", []string{"udp"}, 0.9, 1.1},
	} {
		t.Run(x.name, func(t *testing.T) {
			only := map[string]string{"p4te/lab": "load=heavy", "p4te/lab-failure": "failure=[link, spine]"}[x.name]
			data, err := exec.Command(binary, "run", x.name, "--quick", "--set", "duration=4s", "--set", x.set, "--set",
				only, "--on", "lab", "--out", t.TempDir(), "--attempts", fmt.Sprint(domainAttempts), "--json").Output()
			if err != nil {
				t.Fatalf("%v: %s", err, said(err))
			}
			var doc domainDocument
			if err := json.Unmarshal(data, &doc); err != nil {
				t.Fatal(err)
			}
			j, n := doc.judge(t, x.groups)
			judged, seen = judged+j, seen+n
			for _, a := range doc.Agreement {
				if a.Measure == "goodput_bps" && a.Group == x.groups[0] && (a.Lab < x.low*a.Sim || a.Lab > x.high*a.Sim) {
					t.Errorf("%s %s: %.1f Mb/s in the simulator, %.1f in the lab", fmt.Sprint(a.Point), a.Group, a.Sim/1e6,
						a.Lab/1e6)
				}
			}
			if left := namespaces(t); left != "" {
				t.Errorf("left behind: %s", left)
			}
		})
	}
	judgedEnough(t, judged, seen)
}

package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/command"
	"weir/study/experiment"
)

// blind is Reno that reacts to queues in telemetry, but does not request telemetry.
type blind struct {
	cc.Controller
	stuck bool
}

func (b blind) OnAck(now unit.Time, a *cc.Ack) {
	if n := len(a.Telemetry.Hops); n == 0 || a.Telemetry.Hops[n-1].Queue < 10_000 {
		b.Controller.OnAck(now, a)
	}
}

func (b blind) Decision() cc.Decision {
	d := b.Controller.Decision()
	if b.stuck {
		d.NextTimer = 0
	}
	return d
}

// hole is a program that drops every packet.
type hole struct{}

func (hole) Name() string { return "hole" }
func (hole) Admit(*dataplane.Env, *packet.Packet) dataplane.Verdict {
	return dataplane.Drop(dataplane.EarlyDrop)
}

// owned returns Weir's registry with schemes that have a mistake.
func owned() *experiment.Registry {
	r := Registry()
	mine := func(name string, stuck bool) cc.Scheme {
		s := reno.Scheme()
		build := s.Build
		s.Name, s.Doc = name, "a mistake"
		s.Build = func(f cc.Flow, c scheme.Config) (cc.Controller, error) {
			x, err := build(f, c)
			return blind{x, stuck}, err
		}
		return s
	}
	r.Controllers = append(r.Controllers, mine("blind", false), mine("stuck", true))
	r.Programs = append(r.Programs, dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "hole", Doc: "a mistake", Source: "tests"},
		Build:  func(*dataplane.Site, scheme.Config) (dataplane.Program, error) { return hole{}, nil }})
	return r
}

// TestCheck_FindsMistakes checks that weir check finds three mistakes: a controller that reads telemetry without
// asking for it, a timer that is always due, and a program that drops everything. It also checks a correct
// experiment, and a sweep with correct and wrong schemes.
func TestCheck_FindsMistakes(t *testing.T) {
	for _, x := range []struct {
		name, cc, programs, want string
		code                     int
	}{
		{"none", "reno", "forward", "", command.Done},
		{"reads telemetry", "blind", "forward", "warning: bad.yaml:5:60: cc blind: it reads telemetry (Ack.Telemetry) and " +
			"asks for none", command.Done},
		{"a timer", "stuck", "forward", "mistake: bad.yaml:5:60: cc stuck: after ", command.WrongInput},
		{"drops everything", "reno", "forward, hole", "warning: nothing arrives: of ", command.Done},
		{"a swept scheme", "$cc", "forward", "cc blind: it reads telemetry", command.Done},
	} {
		t.Run(x.name, func(t *testing.T) {
			text := `duration: 3s
topology: {dumbbell: {hosts: 1, rate: 100Mbps, bottleneck: 10Mbps, delay: 1ms, buffer: 30 packets}}
switch: [` + x.programs + `]
traffic:
  - {name: x, from: left0, to: right0, transport: tcp, cc: ` + x.cc + `}
measure: [goodput]
`
			if x.cc == "$cc" {
				text += "sweep: {cc: [reno, cubic, blind]}\n"
			}
			t.Chdir(t.TempDir())
			if err := os.WriteFile("bad.yaml", []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			code := Run(owned(), []string{"check", "bad.yaml"}, &out, &errs, false)
			if code != x.code || !strings.Contains(errs.String(), x.want) || x.want == "" && errs.Len() > 0 ||
				strings.Contains(out.String(), "is valid") != (x.code == command.Done) {
				t.Errorf("exit code %d\n%s%s", code, &out, &errs)
			}
		})
	}
}

// TestCheck_FindsNoMistakesInSampleExperiments checks three experiments of the catalogue; -tags slow checks all.
func TestCheck_FindsNoMistakesInSampleExperiments(t *testing.T) {
	checkNoMistakes(t, "hpcc/joins", "p4abc/single", "bench/engine")
}

func checkNoMistakes(t *testing.T, names ...string) {
	for _, name := range names {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			var out, errs bytes.Buffer
			code := Run(Registry(), []string{"check", name, "--quick"}, &out, &errs, false)
			for line := range strings.Lines(errs.String()) {
				for _, word := range []string{"mistake: ", "nothing arrives", "it reads", "notice: "} {
					if strings.Contains(line, word) {
						t.Error(line)
					}
				}
			}
			if code != command.Done {
				t.Errorf("exit code %d\n%s", code, &errs)
			}
		})
	}
}

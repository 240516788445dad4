package cctest

import (
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/cubic"
	"weir/core/cc/dcqcn"
	"weir/core/cc/dctcp"
	"weir/core/cc/none"
	"weir/core/cc/reno"
	"weir/core/cc/swift"
	"weir/core/cc/timely"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// TestNoFindings checks that any events find no mistake in the schemes of this tree.
func TestNoFindings(t *testing.T) {
	for _, s := range []cc.Scheme{bbr.Scheme(), cubic.Scheme(), dctcp.Scheme(), none.Scheme(), reno.Scheme(),
		dcqcn.Scheme(), swift.Scheme(), timely.Scheme()} {
		t.Run(s.Name, func(t *testing.T) {
			var findings Findings
			c, err := BuildController(findings.WatchScheme(s), NewDatacentreFlow(1))
			if err != nil {
				t.Fatal(err)
			}
			m := &Model{Controller: c, OwnRecovery: true, FreeAfterTimeout: true, Speed: 1000}
			for _, story := range stories(4) {
				m.PlayStory(story)
			}
			findings.ReportUnresponsive()
			for _, x := range findings.Found {
				t.Errorf("%+v", x)
			}
			if x := c.(*replicas); len(x.others) == 0 || x.acks < 1000 {
				t.Errorf("%d replicas are left after %d acknowledgements", len(x.others), x.acks)
			}
		})
	}
}

// mistaken is a controller with one mistake.
type mistaken struct {
	add    func(a *cc.Ack) unit.Bytes // to the window
	more   unit.Bytes
	change func(d *cc.Decision)
	sends  func()
	loses  func(l cc.Loss)
	hears  func(n cc.Notice)
	asked  unit.Bytes
}

func (m *mistaken) OnAck(_ unit.Time, a *cc.Ack) {
	if m.add != nil {
		m.more = m.add(a)
	}
}
func (m *mistaken) OnSend(unit.Time, cc.Sent) {
	if m.sends != nil {
		m.sends()
	}
}
func (m *mistaken) OnNotice(_ unit.Time, n cc.Notice) {
	if m.hears != nil {
		m.hears(n)
	}
}
func (m *mistaken) OnLoss(_ unit.Time, l cc.Loss) {
	if m.loses != nil {
		m.loses(l)
	}
}
func (m *mistaken) OnTimer(unit.Time) {}
func (m *mistaken) Decision() cc.Decision {
	d := cc.Decision{Window: 10*MSS + m.more, NextTimer: unit.Never}
	if m.change != nil {
		m.change(&d)
	}
	return d
}

// shared is what flows must not share.
var shared unit.Bytes

// flawed lists schemes with one mistake, or none.
var flawed = []struct {
	name   string
	scheme cc.Scheme // what it says
	make   func(m *mistaken)
	want   string // "": nothing
	fatal  bool
}{
	{"none", cc.Scheme{}, func(m *mistaken) {}, "", false},
	{"reads telemetry", cc.Scheme{}, func(m *mistaken) {
		m.add = func(a *cc.Ack) (n unit.Bytes) {
			for _, h := range a.Telemetry.Hops {
				n = max(n, h.Queue)
			}
			return n
		}
	}, "it reads telemetry", false},
	{"reads the fourth hop", cc.Scheme{}, func(m *mistaken) {
		m.add = func(a *cc.Ack) (n unit.Bytes) {
			if len(a.Telemetry.Hops) > 0 {
				n = a.Telemetry.Hops[3].Queue
			}
			return n
		}
	}, "it reads telemetry", false},
	{"reads loads", cc.Scheme{}, func(m *mistaken) {
		m.add = func(a *cc.Ack) unit.Bytes { return unit.Bytes(1000 * a.Telemetry.Load) }
	}, "it reads telemetry", false},
	{"asks for what it reads", cc.Scheme{Telemetry: telemetry.HopRecords}, func(m *mistaken) {
		m.add = func(a *cc.Ack) unit.Bytes { return unit.Bytes(len(a.Telemetry.Hops)) }
	}, "", false},
	{"reads answers", cc.Scheme{}, func(m *mistaken) {
		m.add = func(a *cc.Ack) unit.Bytes { return unit.Bytes(a.Telemetry.Drain) }
	}, "it reads what switches answer", false},
	{"makes requests", cc.Scheme{Requests: true}, func(m *mistaken) {
		m.add = func(a *cc.Ack) unit.Bytes { return unit.Bytes(a.Telemetry.Drain) }
	}, "", false},
	{"reads marks", cc.Scheme{}, func(m *mistaken) {
		m.add = func(a *cc.Ack) unit.Bytes { return unit.Bytes(a.ECN.Delivered) }
	}, "it reads marks", false},
	{"reads echoes", cc.Scheme{}, func(m *mistaken) {
		m.add = func(a *cc.Ack) (n unit.Bytes) {
			if a.ECN.Echo {
				n = MSS
			}
			return n
		}
	}, "it reads marks", false},
	{"asks for the marks that it reads", cc.Scheme{ECN: cc.DCTCPMode}, func(m *mistaken) {
		m.add = func(a *cc.Ack) unit.Bytes { return unit.Bytes(a.ECN.Delivered) }
	}, "", false},
	{"heeds echoes as losses", cc.Scheme{ECN: cc.DCTCPMode}, func(m *mistaken) {
		m.loses = func(l cc.Loss) {
			if l.Kind == cc.ECNEcho {
				m.more = MSS
			}
		}
	}, "", false},
	{"heeds notices", cc.Scheme{ECN: cc.CNPMode}, func(m *mistaken) {
		m.hears = func(n cc.Notice) {
			if n.Kind == cc.CNPNotice {
				m.more = MSS
			}
		}
	}, "", false},
	{"asks for marks and ignores them", cc.Scheme{ECN: cc.DCTCPMode}, func(m *mistaken) {
		m.add = func(a *cc.Ack) unit.Bytes { return unit.Bytes(a.Losses.New) }
	}, "but it responds to no mark", false},
	{"shares state", cc.Scheme{}, func(m *mistaken) {
		m.add = func(*cc.Ack) unit.Bytes { shared++; return shared }
	}, "the same calls give different decisions", true},
	{"no window", cc.Scheme{}, func(m *mistaken) { m.change = func(d *cc.Decision) { d.Window = 0 } },
		"its window is 0B, which is below a packet", true},
	{"half a packet", cc.Scheme{}, func(m *mistaken) { m.change = func(d *cc.Decision) { d.Window = MSS / 2 } },
		"its window is 500B", true},
	{"a rate below nothing", cc.Scheme{}, func(m *mistaken) { m.change = func(d *cc.Decision) { d.Rate = -1 } },
		"its rate is", true},
	{"a timer that is over", cc.Scheme{}, func(m *mistaken) {
		m.change = func(d *cc.Decision) { d.NextTimer = 0 }
	}, "its NextTimer is 0s, which is over", true},
	{"asking changes", cc.Scheme{}, func(m *mistaken) {
		m.change = func(d *cc.Decision) { m.asked++; d.Window += m.asked }
	}, "asking for its Decision changes it", true},
	{"does not keep on send", cc.Scheme{KeepsOnSend: true}, func(m *mistaken) {
		m.sends = func() { m.more++ }
	}, "OnSend changes its Decision", true},
	{"changes on send", cc.Scheme{}, func(m *mistaken) { m.sends = func() { m.more++ } }, "", false},
	{"panics", cc.Scheme{}, func(m *mistaken) {
		m.add = func(a *cc.Ack) unit.Bytes { return unit.Bytes(a.Telemetry.Hops[len(a.Telemetry.Hops)-1].Queue) }
	}, "OnAck panics: runtime error: index out of range [-1]", true},
}

// TestFindings_FindOnlyThePlantedMistake checks that each mistake is found in a scheme made for it, without further
// findings.
func TestFindings_FindOnlyThePlantedMistake(t *testing.T) {
	for _, x := range flawed {
		t.Run(x.name, func(t *testing.T) {
			shared = 0
			s := x.scheme
			s.Name = "mistaken"
			s.Build = func(cc.Flow, scheme.Config) (cc.Controller, error) {
				m := &mistaken{}
				x.make(m)
				return m, nil
			}
			var findings Findings
			c, err := findings.WatchScheme(s).Build(NewFlow(1), nil)
			if err != nil {
				t.Fatal(err)
			}
			c.OnSend(unit.Microsecond, cc.Sent{Bytes: MSS})
			story := stories(1)[0]
			(&Model{Controller: c, OwnRecovery: true, FreeAfterTimeout: true}).PlayStory(story)
			findings.ReportUnresponsive()
			switch {
			case x.want == "" && len(findings.Found) > 0:
				t.Errorf("it has no finding: %+v", findings.Found)
			case x.want != "" && (len(findings.Found) != 1 || !strings.Contains(findings.Found[0].Text, x.want) ||
				findings.Found[0].Fatal != x.fatal):
				t.Errorf("%+v, not %q", findings.Found, x.want)
			}
		})
	}
}

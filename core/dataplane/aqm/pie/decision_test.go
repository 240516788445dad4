package pie

import (
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
)

// judged is PIE in a given state when one packet arrives, for which a drop has become certain (§5.4).
type judged struct {
	*program
	given, left queueState
	last        int64 // packet
}

func (j *judged) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Seq != j.last {
		return dataplane.Accept
	}
	s := &j.states[p.Meta.Out]
	*s = j.given
	s.active, s.gatheredProbability = true, 8.5
	v := j.program.Admit(env, p)
	j.left = *s
	return v
}

// judge returns what happens to a packet that arrives behind one that is being sent and some of 1500 bytes that wait,
// and PIE's state.
func judge(t *testing.T, given queueState, waiting int, tos uint8) (outcome string, left queueState) {
	s := dataplanetest.NewLinks(2, 12*unit.Mbps, 1)
	program, ok := build(t, "mean_packet", "1500 B")(s.NewSite())[0].(*program)
	if !ok {
		t.Fatal("PIE is another program")
	}
	j := &judged{program: program, given: given, last: int64(waiting) + 1}
	s.Programs = []dataplane.Program{j}
	var script []dataplanetest.Arrival
	for i := range waiting + 2 {
		script = append(script, dataplanetest.Arrival{At: unit.Millisecond + unit.Time(i), Dst: 2, Seq: int64(i),
			Payload: 1458, TOS: tos})
	}
	got := dataplanetest.RunSorted(t, s, script)
	if got.Drops[dataplane.EarlyDrop] > 0 {
		return "dropped", j.left
	}
	for _, d := range got.Departures {
		if d.TOS == packet.CE {
			return "marked", j.left
		}
	}
	return "sent", j.left
}

// TestProgram_SparesShortQueuesAndBursts checks RFC 8033 §4.1 and §5.1 with the default target of 15 ms. No packet is
// dropped while the delay was below half of the target and the probability is below 20 %, while at most two full
// packets wait, or in an allowed burst. ECN is trusted up to 10 %.
func TestProgram_SparesShortQueuesAndBursts(t *testing.T) {
	for _, x := range []struct {
		name    string
		given   queueState
		waiting int
		tos     uint8
		want    string
	}{
		{"19 % behind a short delay", queueState{probability: 0.19, oldDelay: 0.0074}, 9, packet.NotECT, "sent"},
		{"20 % behind a short delay", queueState{probability: 0.20, oldDelay: 0.0074}, 9, packet.NotECT, "dropped"},
		{"30 % without delay", queueState{probability: 0.30}, 9, packet.NotECT, "dropped"},
		{"19 % behind half of the target", queueState{probability: 0.19, oldDelay: 0.0075}, 9, packet.NotECT, "dropped"},
		{"one waits", queueState{probability: 0.9, oldDelay: 0.1}, 1, packet.NotECT, "sent"},
		{"two wait", queueState{probability: 0.9, oldDelay: 0.1}, 2, packet.NotECT, "sent"},
		{"three wait", queueState{probability: 0.9, oldDelay: 0.1}, 3, packet.NotECT, "dropped"},
		{"a burst is allowed", queueState{probability: 0.9, oldDelay: 0.1, burstLeft: 0.001}, 9, packet.NotECT, "sent"},
		{"ECN at 9 %", queueState{probability: 0.09, oldDelay: 0.1}, 9, packet.ECT0, "marked"},
		{"ECN at 11 %", queueState{probability: 0.11, oldDelay: 0.1}, 9, packet.ECT0, "dropped"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got, _ := judge(t, x.given, x.waiting, x.tos); got != x.want {
				t.Errorf("%s, want %s", got, x.want)
			}
		})
	}
}

// TestBurstAllowance_RestartsWhenDelaysAreShort checks RFC 8033 §4.4: the allowance for bursts restarts, for 150 ms,
// when the probability is 0 and the delays at the last update and at present are both below half of the target.
func TestBurstAllowance_RestartsWhenDelaysAreShort(t *testing.T) {
	for _, x := range []struct {
		name  string
		given queueState
		want  float64
	}{
		{"both are short", queueState{oldDelay: 0.0074, lastDelay: 0.0074, burstLeft: 0.05}, 0.150},
		{"now it is long", queueState{oldDelay: 0.0074, lastDelay: 0.0075, burstLeft: 0.05}, 0.05},
		{"it was long", queueState{oldDelay: 0.0075, lastDelay: 0.0074, burstLeft: 0.05}, 0.05},
		{"the probability is not 0", queueState{probability: 1e-9, burstLeft: 0.05}, 0.05},
	} {
		t.Run(x.name, func(t *testing.T) {
			if _, left := judge(t, x.given, 9, packet.NotECT); left.burstLeft != x.want {
				t.Errorf("%v s are allowed, want %v", left.burstLeft, x.want)
			}
		})
	}
}

package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
	"weir/study/measure"
	"weir/study/spec"
	"weir/worlds/sim"
)

// Config makes the simulator's configuration of the run, for those who run it
// themselves.
func (r *Run) Config() (*sim.Config, error) { return Config(r.Of, r.Seed) }

// appRate is that of a traffic's application; 0: it has none.
func appRate(tr *spec.Traffic) unit.Rate {
	_, config := tr.Transport()
	return transport.AppRate(config)
}

// FramesPerSecond is about how many frames hosts send together at most: datagrams at their
// rate, TCP as fast as links of senders and receivers let it, and an acknowledgement for
// two segments.
func FramesPerSecond(p *spec.Point) float64 {
	n := len(p.Network().Nodes)
	rate := make([]float64, n) // of hosts' links
	for _, l := range p.Network().Links {
		for _, e := range l.Ends {
			if !p.Network().Nodes[e].Switch {
				if rate[e] = float64(l.Rate.Bits); l.Rate.Bits == 0 {
					rate[e] = float64(l.Rate.Packets) * 12000
				}
			}
		}
	}
	out, in := make([]float64, n), make([]float64, n)                 // bit/s by host: TCP sent and received at most
	datagrams, datagramBits := make([]float64, n), make([]float64, n) // a second, by host
	segment := 1e18                                                   // bits of a full frame of TCP, the least
	add := func(tr *spec.Traffic, src, dst int, offered float64) {
		bits := 8 * float64(tr.Headers()+tr.Payload())
		if s, _ := tr.Transport(); s.Kernel == packet.ProtoUDP {
			packets := offered / 8 / float64(tr.Payload())
			datagrams[src] += packets
			datagramBits[src] += packets * bits
			return
		}
		segment = min(segment, bits)
		out[src] += offered
		in[dst] += offered
	}
	for id := range p.Entries() {
		tr := p.Entry(id)
		offered := 1e18
		if r := appRate(tr); r > 0 {
			offered = float64(r)
		}
		if g, ok := tr.Generator(); ok {
			for _, src := range g.From {
				if g.Offered > 0 {
					offered = g.Offered * rate[src]
				}
				for _, dst := range g.To[:min(len(g.To), 1)] {
					add(tr, src, dst, offered)
				}
			}
			for _, dst := range g.To {
				in[dst] = 1e18 // whoever it is
			}
		}
		for i := range p.Flows() {
			f := p.Flow(i)
			switch n, bytes := f.Peak(); {
			case f.Traffic != id:
			case n > 0: // a capture says what it offers
				datagrams[f.Src] += n
				datagramBits[f.Src] += 8 * (bytes + n*float64(tr.Headers()))
			default:
				add(tr, f.Src, f.Dst, offered)
			}
		}
	}
	frames, sent, received := 0.0, 0.0, 0.0
	for h := range rate {
		if datagrams[h] > 0 {
			frames += datagrams[h] * min(1, rate[h]/datagramBits[h])
		}
		sent += min(out[h], rate[h])
		received += min(in[h], rate[h])
	}
	return frames + 1.5*min(sent, received)/segment
}

// EstimateLab guesses how many frames a second the hosts of a run send together at most,
// and how long the run takes in the lab, in seconds.
func EstimateLab(r *Run) (frames, seconds float64) {
	const around = 1 // namespaces, data plane, lead, end
	p := r.Of
	return FramesPerSecond(p), (p.Warmup() + p.Duration()).Seconds() + around
}

// Run is one run of an experiment: a point of its sweep and a seed.
type Run struct {
	Seed   uint64
	Point  []measure.Coordinate
	Number int // in the order of Spec.RunsOn, from 0
	Spec   *spec.Spec
	Of     *spec.Point
	Index  int // of the point
}

// Runs expands the spec for the simulator: the sweep's first key varies slowest, seeds
// fastest. With seeds by need (spec.Need) they are as many as there can be.
func Runs(s *spec.Spec) []*Run { return RunsOn(s, spec.Sim) }

// RunsOn is Runs for Sim or Lab: the two may differ in how many seeds a point has.
func RunsOn(s *spec.Spec, world string) []*Run {
	var runs []*Run
	for i, p := range s.Points() {
		at := p.At()
		for k := range s.RepeatOn(world) {
			runs = append(runs, &Run{Seed: s.Seed() + uint64(k), Point: at, Number: len(runs), Spec: s, Of: p, Index: i})
		}
	}
	return runs
}

// ID is the hash of all that decides the run's outcome: the resolved spec of its
// point, its seed, and the program (the SHA-256 of the executable).
func (r *Run) ID(executable string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\nseed %d\nexecutable %s\n", r.Of.Canonical(), r.Seed, executable)
	return hex.EncodeToString(h.Sum(nil))[:idLength]
}

const idLength = 16

// IsID reports whether a text can be a run's ID: what is read of a file names files only then.
func IsID(s string) bool {
	return len(s) == idLength && strings.Trim(s, "0123456789abcdef") == ""
}

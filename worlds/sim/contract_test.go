package sim

import (
	"sort"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/feedback/inband"
	"weir/core/fabric"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit/fusedtest"
)

// station is the neighbour at one port of a scripted switch. It sends the script's packets so that their last bits
// arrive on time, and records the packets that it gets.
type station struct {
	port   packet.PortID
	setup  *dataplanetest.Setup
	pool   *packet.Pool
	book   *packet.Book
	script []dataplanetest.Arrival
	queue  []*packet.Packet
	wants  packet.NodeRequests
	got    *dataplanetest.Transcript
}

// instant is the time that a frame needs on the stations' own links: 1 ps.
const instant unit.Time = 1

func (s *station) Receive(now unit.Time, _ packet.PortID, p *packet.Packet) {
	s.got.Departures = append(s.got.Departures, dataplanetest.NewDeparture(now, s.port, p))
	s.pool.Put(p)
}

func (s *station) Dequeue(now unit.Time, _ packet.PortID) (*packet.Packet, unit.Time) {
	if len(s.queue) == 0 {
		return nil, unit.Never
	}
	p := s.queue[0]
	if s.queue = s.queue[1:]; len(s.queue) > 0 {
		return p, now
	}
	return p, unit.Never
}

func (s *station) Wants() *packet.NodeRequests {
	if s.wants.Timer = unit.Never; len(s.script) > 0 {
		s.wants.Timer = s.script[0].At - instant
	}
	return &s.wants
}

func (s *station) Advance(now unit.Time) {
	for len(s.script) > 0 && s.script[0].At-instant <= now {
		s.queue = append(s.queue, s.setup.NewPacket(s.pool, s.book, s.script[0]))
		s.script = s.script[1:]
		s.wants.WakePort(0)
	}
	s.Wants()
}

// driver runs a script on the fabric. Frames that arrive at one instant in a script arrive 1 ps apart there,
// because a link delivers at distinct times.
func driver(window unit.Time) dataplanetest.ScriptRunner {
	return func(s dataplanetest.Setup, script []dataplanetest.Arrival) dataplanetest.Transcript {
		var pool packet.Pool
		var t dataplanetest.Transcript
		sw := s.NewSwitch(&pool)
		nodes := []fabric.Node{sw}
		var links []fabric.Link
		for i, p := range s.Ports {
			port := packet.PortID(i)
			st := &station{port: port, setup: &s, pool: &pool, book: s.NewBook(), got: &t}
			for _, a := range script {
				if a.Port == port {
					st.script = append(st.script, a)
				}
			}
			nodes = append(nodes, st)
			links = append(links,
				fabric.Link{From: 0, FromPort: port, To: i + 1, Rate: p.Rate},
				fabric.Link{From: i + 1, To: 0, ToPort: port, Rate: unit.LinkRate{Bits: 1 << 62}})
		}
		f, err := fabric.New(fabric.Config{Nodes: nodes, Links: links, Pool: &pool, Window: window})
		if err != nil {
			panic(err)
		}
		f.Run(unit.Second, nil)
		t.RecordEnd(unit.Second, sw, &s, &pool)
		t.Events = f.CountEvents()
		sort.SliceStable(t.Departures, func(i, j int) bool {
			a, b := t.Departures[i], t.Departures[j]
			return a.At < b.At || a.At == b.At && a.Port < b.Port
		})
		return t
	}
}

// TestFabric_PassesDriverContract checks that the simulator's fabric passes the contract of all drivers.
func TestFabric_PassesDriverContract(t *testing.T) {
	dataplanetest.CheckContract(t, driver(0))
	dataplanetest.CheckContract(t, driver(100*unit.Nanosecond))
}

// TestFabric_FusedListsMatchHooks checks that fused lists, and packets without a queue, give the same results on the
// fabric as by hooks.
func TestFabric_FusedListsMatchHooks(t *testing.T) {
	schemes := []dataplane.Scheme{ecmp.Scheme(), ecn.Scheme(), inband.Scheme(), pfc.Scheme(), sharedbuffer.Scheme()}
	for _, window := range []unit.Time{0, 100 * unit.Nanosecond} {
		fusedtest.CompareFused(t, driver(window), schemes, 4)
	}
}

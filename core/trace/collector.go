package trace

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"weir/core/packet"
	"weir/core/unit"
)

// Port is one port of a run.
type Port struct {
	Name   string // node->neighbour
	Node   int    // that it belongs to
	Traced bool
}

// Select marks the ports that a pattern (path.Match: * stands for any characters)
// picks and returns whether there are any.
func Select(ports []Port, pattern string) bool {
	found := false
	for i := range ports {
		if ok, err := path.Match(pattern, ports[i].Name); ok && err == nil || ports[i].Name == pattern {
			ports[i].Traced, found = true, true
		}
	}
	return found
}

// Captured is how much of a frame's payload records keep: all headers and these
// bytes, in which UDP's datagrams of Weir have their number and time.
const Captured = 16

// SnapLength is the most that records keep of a frame, unless Config.Snap says otherwise: the longest headers, with
// telemetry of 16 hops, are shorter.
const SnapLength = 1024

// Config is what a collector has to know about a run.
type Config struct {
	Nodes []string // names; node i has the address i+1
	Ports []Port   // by number
	Book  *packet.Book
	// Frames asks for the wire form of the packets that are transmitted or dropped.
	Frames bool
	Snap   int // bytes of each frame that records keep; 0: all headers and Captured bytes of payload
	Sinks  []Sink
}

// Collector passes the events of traced ports to its sinks in the order (time, node, order within the node). It holds
// the events since the last Flush. It is an Observer; threads have one each (Part).
type Collector struct {
	config  Config
	watched []bool // by node: it has a traced port
	parts   []*collected
	order   []key // of what parts hold
	ended   bool
	err     error
}

// collected is what one thread has seen since the last Flush. The events of a node are all seen by one.
type collected struct {
	of      *Collector
	part    int32
	held    []Record
	order   []key  // of those that Flush does not know
	frames  []byte // of held
	scratch []byte
	err     error
}

// key orders held records; node −1 is not used.
type key struct {
	at         unit.Time
	node       int32
	part, held int32
}

// NewCollector returns a collector with nothing in it.
func NewCollector(c Config) *Collector {
	t := &Collector{config: c, watched: make([]bool, len(c.Nodes))}
	t.Part(0)
	for _, p := range c.Ports {
		if p.Traced && p.Node < len(t.watched) {
			t.watched[p.Node] = true
		}
	}
	return t
}

// Err returns what went wrong first: a sink's error, or a packet that has no wire
// form. Nothing is written after it. As with Flush, no event is noted meanwhile.
func (t *Collector) Err() error {
	for _, x := range t.parts {
		if t.err == nil {
			t.err = x.err
		}
	}
	return t.err
}

// Part returns the observer of thread k, 0, 1, …, which is used while the others are: no event of a node may be seen by
// two of them. Nothing is noted while Flush or End runs.
func (t *Collector) Part(k int) Observer {
	for len(t.parts) <= k {
		t.parts = append(t.parts, &collected{of: t, part: int32(len(t.parts))})
	}
	return t.parts[k]
}

// Observe notes an event if its port is traced. A drop that has no port at all, of
// a packet that a switch made itself, is noted if the switch has a traced one.
func (t *Collector) Observe(e Event, p *packet.Packet) { t.parts[0].Observe(e, p) }

// Observe is Collector.Observe.
func (x *collected) Observe(e Event, p *packet.Packet) {
	t := x.of
	switch {
	case t.ended || t.err != nil || x.err != nil:
		return
	case e.Port == None:
		if !t.watched[e.Node] {
			return
		}
	case !t.config.Ports[e.Port].Traced:
		return
	}
	r := Record{At: e.At, Kind: e.Kind, Node: t.config.Nodes[e.Node], Reason: e.Reason,
		QueuePackets: int64(e.QueuePackets), QueueBytes: int64(e.QueueBytes), Flow: None, Packet: p.Kind, Size: int64(p.Size)}
	if e.Port != None {
		r.Port = t.config.Ports[e.Port].Name
	}
	if p.Kind != packet.Pause && p.Kind != packet.Resume {
		r.Flow, r.Proto, r.TOS = int64(p.Flow), p.Proto, p.TOS
		r.Src, r.Dst, r.SrcPort, r.DstPort = t.host(p.Src), t.host(p.Dst), p.SrcPort, p.DstPort
		if p.Flow == packet.NoFlow {
			r.Flow = None
		}
		r.Seq, r.Ack, r.Payload = p.Seq, p.Ack, int64(p.Payload)
		if p.Proto == packet.ProtoTCP {
			r.Seq, r.Ack, r.TCPFlags = int64(uint32(p.Seq)), int64(uint32(p.Ack)), p.TCP.Flags
		}
	}
	if t.config.Frames && t.config.Book != nil && (e.Kind == Transmit || e.Kind == Drop) {
		x.frame(&r, p)
	}
	x.order = append(x.order, key{e.At, e.Node, x.part, int32(len(x.held))})
	x.held = append(x.held, r)
}

func (t *Collector) host(a packet.Addr) string {
	if a == 0 || int(a) > len(t.config.Nodes) {
		return ""
	}
	return t.config.Nodes[a-1]
}

// frame keeps the beginning of p's wire form.
func (x *collected) frame(r *Record, p *packet.Packet) {
	data := p.Data
	switch {
	case data != nil && r.Kind == Drop: // what programs have changed is not in it yet
		c := *p
		c.Data = append([]byte(nil), data...)
		if c.Deparse(x.of.config.Book) == nil { // else it is malformed: it stays as it came
			data = c.Data
		}
	case data == nil:
		var err error
		if data, err = p.Emit(x.of.config.Book, x.scratch[:0]); err != nil {
			x.err = fmt.Errorf("trace: at %v, %s: %w", r.At, r.Port, err)
			return
		}
		x.scratch = data
	}
	n := len(data) - int(p.Payload) + Captured
	if n = min(max(n, 0), len(data), SnapLength); x.of.config.Snap > 0 {
		n = min(len(data), x.of.config.Snap)
	}
	at := len(x.frames)
	x.frames = append(x.frames, data[:n]...)
	r.Frame, r.FrameBytes = x.frames[at:at+n:at+n], len(data)
}

// Flush writes the events before done. No further event of that time may follow.
func (t *Collector) Flush(done unit.Time) error {
	for _, x := range t.parts {
		t.order = append(t.order, x.order...)
		x.order = x.order[:0]
	}
	t.Err()
	slices.SortFunc(t.order, func(a, b key) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		if c := cmp.Compare(a.node, b.node); c != 0 {
			return c
		}
		return cmp.Compare(a.held, b.held)
	})
	n := 0
	for ; n < len(t.order) && t.order[n].at < done; n++ {
		for _, s := range t.config.Sinks {
			if t.err == nil {
				t.err = s.Write(&t.parts[t.order[n].part].held[t.order[n].held])
			}
		}
	}
	if t.order = t.order[:copy(t.order, t.order[n:])]; len(t.order) == 0 {
		for _, x := range t.parts {
			x.held, x.frames = x.held[:0], x.frames[:0]
		}
	}
	return t.err
}

// End writes the events up to and including last, and ignores later ones: how far a run continues after
// its last flow is done depends on how it is executed.
func (t *Collector) End(last unit.Time) error {
	err := t.Flush(last + 1)
	t.ended, t.order = true, nil
	for _, x := range t.parts {
		x.held, x.order, x.frames = nil, nil, nil
	}
	return err
}

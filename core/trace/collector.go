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
	Node   int    // index of the port's node in Config.Nodes
	Traced bool
}

// MarkPorts marks the ports that a pattern (path.Match: * stands for any characters) matches, or equals. It reports
// whether there are any. Other ports stay as they are.
func MarkPorts(ports []Port, pattern string) bool {
	found := false
	for i := range ports {
		if ok, err := path.Match(pattern, ports[i].Name); ok && err == nil || ports[i].Name == pattern {
			ports[i].Traced, found = true, true
		}
	}
	return found
}

// CapturedPayload is the number of payload bytes that records keep after all headers. In Weir's UDP datagrams they hold
// the datagram's number and time.
const CapturedPayload = 16

// SnapLength is the maximum number of bytes of a frame that records keep, unless Config.Snap is set. The longest
// headers, with telemetry of 16 hops, are shorter.
const SnapLength = 1024

// Config describes a run to its collector.
type Config struct {
	Nodes []string // names; node i has the address i+1
	Ports []Port   // by number
	Book  *packet.Book
	// Frames asks for the wire form of the packets that are transmitted or dropped.
	Frames bool
	Snap   int // bytes of each frame that records keep; 0: all headers and CapturedPayload bytes of payload
	Sinks  []Sink
}

// Collector passes the events of traced ports to its sinks in the order (time, node, order within the node). It holds
// the events since the last Flush. It is an Observer for a run of one thread; with several threads, each uses its own
// observer (PartObserver).
type Collector struct {
	config  Config
	watched []bool // by node: it has a traced port
	parts   []*partEvents
	order   []key // of what parts hold
	ended   bool
	err     error
}

// partEvents holds the events of one thread since the last Flush. All events of a node belong to one thread.
type partEvents struct {
	collector *Collector
	part      int32
	held      []Record
	order     []key  // of the records that Flush has not sorted yet
	frames    []byte // frames of held, one after the other
	scratch   []byte
	err       error
}

// key is the sort key of a held record; node −1 is not used.
type key struct {
	at         unit.Time
	node       int32
	part, held int32
}

// NewCollector returns a collector without events, with the observer of thread 0.
func NewCollector(c Config) *Collector {
	t := &Collector{config: c, watched: make([]bool, len(c.Nodes))}
	t.PartObserver(0)
	for _, p := range c.Ports {
		if p.Traced && p.Node < len(t.watched) {
			t.watched[p.Node] = true
		}
	}
	return t
}

// Err returns the first error: a sink's error, or a packet without a wire form. After an error the collector writes no
// events. Err must not run at the same time as Observe.
func (t *Collector) Err() error {
	for _, x := range t.parts {
		if t.err == nil {
			t.err = x.err
		}
	}
	return t.err
}

// PartObserver returns the observer of thread k, 0, 1, …, and makes those up to k that do not exist. Observers of
// different threads may run at the same time, but all events of a node must go to one of them. Flush, EndAt and
// PartObserver must not run at the same time as any of them.
func (t *Collector) PartObserver(k int) Observer {
	for len(t.parts) <= k {
		t.parts = append(t.parts, &partEvents{collector: t, part: int32(len(t.parts))})
	}
	return t.parts[k]
}

// Observe records an event if its port is traced. A drop without a port, of a packet that a switch made itself, is
// recorded if the switch has a traced port.
func (t *Collector) Observe(e Event, p *packet.Packet) { t.parts[0].Observe(e, p) }

// Observe records an event as Collector.Observe does, in x until the next Flush. It records no event after EndAt or an
// error. A packet without a wire form is an error of the collector.
func (x *partEvents) Observe(e Event, p *packet.Packet) {
	t := x.collector
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
		r.Src, r.Dst, r.SrcPort, r.DstPort = t.hostName(p.Src), t.hostName(p.Dst), p.SrcPort, p.DstPort
		if p.Flow == packet.NoFlow {
			r.Flow = None
		}
		r.Seq, r.Ack, r.Payload = p.Seq, p.Ack, int64(p.Payload)
		if p.Proto == packet.ProtoTCP {
			r.Seq, r.Ack, r.TCPFlags = int64(uint32(p.Seq)), int64(uint32(p.Ack)), p.TCP.Flags
		}
	}
	if t.config.Frames && t.config.Book != nil && (e.Kind == Transmit || e.Kind == Drop) {
		x.storeFrame(&r, p)
	}
	x.order = append(x.order, key{e.At, e.Node, x.part, int32(len(x.held))})
	x.held = append(x.held, r)
}

// hostName returns the name of the host with address a, "" if there is no such host.
func (t *Collector) hostName(a packet.Addr) string {
	if a == 0 || int(a) > len(t.config.Nodes) {
		return ""
	}
	return t.config.Nodes[a-1]
}

// storeFrame stores the beginning of p's wire form in r. A packet without a wire form is an error of the collector.
func (x *partEvents) storeFrame(r *Record, p *packet.Packet) {
	data := p.Data
	switch {
	case data != nil && r.Kind == Drop: // changes by switch programs are not in the data yet
		c := *p
		c.Data = append([]byte(nil), data...)
		if c.Deparse(x.collector.config.Book) == nil { // on an error p is malformed, and its data stay as received
			data = c.Data
		}
	case data == nil:
		var err error
		if data, err = p.Emit(x.collector.config.Book, x.scratch[:0]); err != nil {
			x.err = fmt.Errorf("trace: at %v, %s: %w", r.At, r.Port, err)
			return
		}
		x.scratch = data
	}
	n := len(data) - int(p.Payload) + CapturedPayload
	if n = min(max(n, 0), len(data), SnapLength); x.collector.config.Snap > 0 {
		n = min(len(data), x.collector.config.Snap)
	}
	at := len(x.frames)
	x.frames = append(x.frames, data[:n]...)
	r.Frame, r.FrameBytes = x.frames[at:at+n:at+n], len(data)
}

// Flush writes the events before done to the sinks, in order, and forgets them. No event before done may follow. It
// returns the first error, as Err does. Frames of the records are valid only during the call.
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

// EndAt writes the events up to and including endTime, and discards later ones. The time at which a run ends after its
// last flow depends on how it is executed, so later events would differ. It ends the collection.
func (t *Collector) EndAt(endTime unit.Time) error {
	err := t.Flush(endTime + 1)
	t.ended, t.order = true, nil
	for _, x := range t.parts {
		x.held, x.order, x.frames = nil, nil, nil
	}
	return err
}

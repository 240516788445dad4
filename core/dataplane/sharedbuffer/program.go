package sharedbuffer

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
)

// Program admits packets to the switch's memory.
type Program struct{ Buffer *Buffer }

// Scheme is what an experiment names: switch: [ecmp, {shared_buffer: {size: 32MB}}, pfc].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "shared_buffer", Doc: "one buffer for all ports of a switch: reserves of ingress " +
			"queues, dynamic or static thresholds of egress queues",
			Source: "Choudhury, Hahne, ToN 6(2) 1998; HPCC §5.1 and simulator", Params: []scheme.Param{
				{Name: "size", Kind: scheme.Size, Default: "32MB", Min: "1 B", Max: "1000GB", Doc: "of the whole buffer",
					Source: "HPCC §5.1"},
				{Name: "reserved", Kind: scheme.Size, Default: "4KiB",
					Doc:    "set aside for every ingress queue: port and class for which there are queues",
					Source: "HPCC simulator: 4 KB"},
				{Name: "alpha", Kind: scheme.Float, Default: "1", Min: "0", Max: "1024",
					Doc: "an egress queue may be as long as this times what is free of the shared part; 0: no such threshold. " +
						"Classes that pfc protects have none", Source: "HPCC §5.1, runs without PFC: alpha = 1, so one port may take " +
						"half the buffer"},
				{Name: "limit", Kind: scheme.Size, Default: "0 B",
					Doc: "static threshold of an egress queue, but of protected classes; 0 B: none", Source: "ours: none"},
			}},
		NeedsNetwork: dataplane.Always(
			"a bridge's ports have buffers of their own; say them under ports"),
		Build: func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
			b := Of(site)
			return &Program{b}, b.Settle(Config{Size: v.Bytes("size"), Reserved: v.Bytes("reserved"),
				Classes: max(site.Queues, 1),
				Alpha:   v.Float("alpha"), Limit: v.Bytes("limit")})
		},
	}
}

// Name is "shared_buffer".
func (s *Program) Name() string { return "shared_buffer" }

// Admit drops what there is no room for.
func (s *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	return s.Buffer.Admit(env, p)
}

// Book counts a packet in.
func (s *Program) Book(_ *dataplane.Env, p *packet.Packet) {
	s.Buffer.Book(p)
}

// Unbook counts it out.
func (s *Program) Unbook(_ *dataplane.Env, p *packet.Packet) {
	s.Buffer.Unbook(p)
}

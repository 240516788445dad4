package sharedbuffer

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Program admits packets to the switch's memory.
type Program struct{ Buffer *Buffer }

// Traits returns that the program drops where queues grow, and the max lengths of its queues. It cannot run standalone,
// because the ports of a bridge have buffers of their own.
func (c *Config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: "a bridge's ports have their own buffers; set them under ports",
		DropsEarly: true, MaxBacklog: c.maxBacklog, MaxQueue: c.maxQueue}
}

// Params binds the options of shared_buffer to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Size(&c.Size, "size", "32MB", "size of the whole buffer", "HPCC §5.1").Min("1 B").Max("1000GB")
	p.Size(&c.Reserved, "reserved", "4KiB",
		"reserved bytes of every ingress queue, which is a port and a class that has queues", "HPCC simulator: 4 KB")
	p.Float(&c.Alpha, "alpha", "1", "dynamic threshold: maximum length of an egress queue as a multiple of the free "+
		"shared buffer; 0: no dynamic threshold; classes that pfc protects have no threshold",
		"HPCC §5.1: without PFC alpha = 1, so one port may take half the buffer").Min("0").Max("1024")
	p.Size(&c.Limit, "limit", "0 B", "static threshold of an egress queue; 0 B: no static threshold; classes that pfc "+
		"protects have none", "Weir: none")
}

// maxBacklog returns the whole buffer, because one port may use all free memory.
func (c *Config) maxBacklog(unit.Bytes, []int64) dataplane.Backlog {
	return dataplane.Backlog{Bytes: c.Size}
}

// maxQueue returns the max length in bytes of an egress queue of a class that pfc does not protect. While the other
// queues are empty, it is alpha times the remaining free memory, and the reserves of all ports. The size and the static
// threshold also limit it.
func (c *Config) maxQueue(ports int) unit.Bytes {
	longest := c.Size
	if c.Alpha > 0 {
		share := unit.Bytes(float64(c.Size) * c.Alpha / (1 + c.Alpha))
		longest = min(longest, share+c.Reserved*unit.Bytes(ports))
	}
	if c.Limit > 0 {
		longest = min(longest, c.Limit)
	}
	return longest
}

// Scheme returns the scheme of the program shared_buffer. A program before it chooses the port:
// switch: [ecmp, {shared_buffer: {size: 32MB}}, pfc].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "shared_buffer",
		Doc: "one buffer for all ports of a switch, with reserves for ingress queues and dynamic or static thresholds " +
			"for egress queues",
		Source: "Dynamic thresholds (Choudhury, Hahne, 1998); HPCC §5.1; HPCC simulator"},
		func(site *dataplane.Site, c Config) (*Program, error) {
			b := BufferOf(site)
			c.Classes = max(site.Queues, 1)
			return &Program{b}, b.SetSize(c)
		})
}

// Name returns "shared_buffer".
func (s *Program) Name() string { return "shared_buffer" }

// Admit drops packets without room.
func (s *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	return s.Buffer.Admit(env, p)
}

// Book counts a packet in.
func (s *Program) Book(_ *dataplane.Env, p *packet.Packet) {
	s.Buffer.Book(p)
}

// Unbook counts a packet out.
func (s *Program) Unbook(_ *dataplane.Env, p *packet.Packet) {
	s.Buffer.Unbook(p)
}

package dataplane

import (
	"fmt"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Setting is where a program is to run, as far as the file tells that has it: a switch of an experiment, or a switch
// on its own.
type Setting struct {
	Switch   string
	Ports    []Facing
	Framing  packet.Framing
	MaxFrame int32 // Size of the largest frame that hosts send; 0: not known
	// Shortest and Longest are round trips of the experiment's flows with a congestion control, without queues;
	// 0: not known, or there are none.
	Shortest, Longest unit.Time
	Queues            int // a port, as the file has it; 0: one
	// Nodes are the names of all hosts and switches; nil: only Ports are known.
	Nodes []string
	// Rigid is the longest IP packet of senders whom no SYN tells how long theirs may be; 0: there are none.
	Rigid int32
}

// Facing is a port, and what is at the other end of its link.
type Facing struct {
	To     string // name of the node there or, of a switch on its own, of the port
	Host   bool   // it is no switch
	Rate   unit.LinkRate
	Buffer unit.Length // of the port; none: unlimited
}

// Frame is the size of a full frame: the largest that hosts send or, where that is not known, Ethernet's.
func (s *Setting) Frame() unit.Bytes {
	if s.MaxFrame > 0 {
		return unit.Bytes(s.MaxFrame)
	}
	return unit.Bytes(s.Framing.Frame(1514, 0, true))
}

// Settled is the configuration of a program that has something to say of where it is to run. It is asked when the file
// is read, once for each switch.
type Settled interface {
	Suits(s *Setting) []scheme.Remark
}

// Suits is what the configuration of a program, or of a port's scheduler, says of a setting.
func Suits(c scheme.Config, s *Setting) []scheme.Remark {
	if x, ok := c.(Settled); ok {
		return x.Suits(s)
	}
	if x, ok := c.(tm.Picky); ok {
		for i := range s.Ports {
			if param, text := x.Unsuited(s.Ports[i].Rate, s.Frame()); text != "" {
				return []scheme.Remark{{Param: param, Text: text}}
			}
		}
	}
	return nil
}

// Remark makes a warning about a parameter.
func Remark(param, format string, args ...any) scheme.Remark {
	return scheme.Remark{Param: param, Text: fmt.Sprintf(format, args...)}
}

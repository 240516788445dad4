package plan

import (
	"fmt"
	"strconv"

	"weir/core/cc"
	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/unit"
	"weir/study/experiment"
	"weir/worlds/sim"
)

// jobs adds the jobs of a run, and tries a message of each.
func (b *builder) jobs(c *sim.Config) error {
	c.Ideal = b.point.Ideal()
	for id := range b.point.Entries() {
		tr := b.point.Entry(id)
		j := tr.Job()
		if j == nil {
			continue
		}
		start, _ := tr.Start()
		c.Jobs = append(c.Jobs, outcome.Job{Group: id, Program: j.Program, Hosts: j.Hosts, Start: start})
		b.steers = append(b.steers, nil)
		if c.Ideal != nil || len(j.Hosts) < 2 {
			continue
		}
		if err := b.steered(id, j); err != nil {
			return err
		}
		if err := b.bound(id, j); err != nil {
			return err
		}
		if err := b.tryMessage(id, len(c.Jobs)-1, j); err != nil {
			return err
		}
	}
	return nil
}

// tryMessage makes the ends of a job's first message, to find errors in their parameters. A job may have no message.
func (b *builder) tryMessage(id, number int, j *experiment.Job) (err error) {
	tried := false
	j.Sends(func(from int, at job.Ref, to int) bool {
		if tried {
			return false
		}
		tried = true
		start, _ := b.point.Entry(id).Start()
		f := outcome.Flow{Group: id, Src: j.Hosts[from], Dst: j.Hosts[to], Size: 1000, Start: start}
		m := job.Message{From: int32(from), Send: at}
		if err = b.Message(number, &m, int32(to), &f, func(int) bool { return true }); err == nil {
			_, _, err = b.MessageEndpoints(&f, 0, 0, start)
		}
		return false
	})
	return err
}

// steered notes that a job says which NICs its messages take, if it does, and that there are as many as it demands: at
// each host that sends, to the others of the job that it has a path to.
func (b *builder) steered(id int, j *experiment.Job) error {
	traits := job.TraitsOf(j.Program)
	nics, demands := traits.NICs, traits.RequiresNICs
	if nics == 0 {
		return nil
	}
	b.steers[len(b.steers)-1] = j.Program
	var sends []bool // by rank; nil: not needed yet
	for i, from := range j.Hosts {
		most := 0
		for k := 1; k < len(j.Hosts) && most < nics && demands; k++ {
			if _, ways, err := b.selector.ByTurn(0, from, j.Hosts[(i+k)%len(j.Hosts)]); err == nil {
				most = max(most, ways)
			}
		}
		if !demands || most >= nics {
			continue
		}
		if sends == nil {
			sends = make([]bool, len(j.Hosts))
			j.Sends(func(from int, _ job.Ref, _ int) bool {
				sends[from] = true
				return false
			})
		}
		if sends[i] {
			return &experiment.NoNIC{Traffic: id, Param: "nics", Allowed: fmt.Sprintf("nics: up to %d", most),
				Why: fmt.Errorf("traffic %s: channels take turns at %d NICs (nics), and %s has %d that lead to others",
					b.point.Entry(id).Name(), nics, b.point.Network().Nodes[from].Name, most)}
		}
	}
	return nil
}

// bound tries that the NIC which a traffic names leads from each rank of its job to those that it sends to.
func (b *builder) bound(id int, j *experiment.Job) (err error) {
	tr := b.point.Entry(id)
	how, port := tr.NIC()
	if port < 0 || !b.point.Routes().NICs().Several() || b.steers[len(b.steers)-1] != nil {
		return nil
	}
	j.Sends(func(from int, _ job.Ref, to int) bool {
		if err == nil {
			if _, wrong := b.selector.Choose(how, port, j.Hosts[from], j.Hosts[to], 0); wrong != nil {
				err = b.noNIC(id, wrong)
			}
		}
		return err == nil
	})
	return err
}

// noNIC is that a traffic asks for a NIC that a host has not, or that leads to no host that it sends to.
func (b *builder) noNIC(id int, why error) error {
	return &experiment.NoNIC{Traffic: id,
		Allowed: "hash, round_robin, rail, or a NIC that leads from each sender to its receivers",
		Why:     fmt.Errorf("traffic %s: %w", b.point.Entry(id).Name(), why)}
}

// Tick is the granularity in which a traffic's transport and its controller take time (sim.PersistentEndpointFactory).
func (b *builder) Tick(group int) unit.Time {
	tr := b.point.Entry(group)
	transport, _ := tr.Transport()
	if controller, _ := tr.CC(); controller != nil {
		return max(transport.Tick, controller.Tick) // one is a multiple of the other
	}
	return transport.Tick
}

// mostPorts is how many source ports flows have.
const mostPorts = 50000

// Message gives a message the ports of its queue pair: all from one rank to another, over the same lane or NIC, have
// the same, in every iteration (sim.MessageEndpointFactory).
func (b *builder) Message(j int, m *job.Message, to int32, f *outcome.Flow, up func(nic int) bool) error {
	pair := uint64(uint32(m.From))<<32 | uint64(uint32(to))
	pair = (pair*0x9e3779b97f4a7c15 ^ uint64(m.Send.Lane)*0xbf58476d1ce4e5b9) + uint64(j)*0x94d049bb133111eb
	pair ^= pair >> 29
	pair *= 0xbf58476d1ce4e5b9
	pair ^= pair >> 32
	f.SrcPort, f.DstPort = uint16(firstPort+pair%mostPorts), serverPort
	tr := b.point.Entry(f.Group)
	f.Class = tr.TOSOf(f.Size) >> 5
	if p := b.steers[j]; p != nil {
		nics, _, err := b.selector.ByTurn(int(p.Op(int(m.From), m.Send).NIC), f.Src, f.Dst)
		if err != nil {
			return fmt.Errorf("traffic %s: %w", tr.Name(), err)
		}
		f.Src, f.Dst = nics.From, nics.To
		return nil
	}
	how, port := tr.NIC()
	nics, err := b.selector.ChooseUp(how, port, f.Src, f.Dst, uint32(pair), up)
	if err != nil {
		return b.noNIC(f.Group, err)
	}
	f.Src, f.Dst = nics.From, nics.To
	return nil
}

// State returns what outlasts a message: the turns of the NIC selector, and what hosts share
// (sim.PersistentEndpointFactory).
func (b *builder) State() any {
	return &struct {
		Selector *topology.NICSelector
		Hosts    []cc.Host
	}{b.selector, b.hosts}
}

// path is that between two hosts of a traffic. Messages take the same again and again; a run with jobs has one thread.
func (b *builder) path(f *outcome.Flow) cc.Path {
	key := [3]int{f.Src, f.Dst, f.Group}
	p, known := b.paths[key]
	if !known {
		if b.paths == nil {
			b.paths = map[[3]int]cc.Path{}
		}
		p = b.seen.Path(f.Src, f.Dst, &b.seen.Traffic[f.Group])
		b.paths[key] = p
	}
	return p
}

// MessageEndpoints makes both endpoints of a message (sim.MessageEndpointFactory).
func (b *builder) MessageEndpoints(f *outcome.Flow, id int, number uint64, start unit.Time) (sender,
	receiver transport.Endpoint, err error) {
	tr := b.point.Entry(f.Group)
	controller, config := tr.CC()
	scheme, parameters := tr.Transport()
	var room [32]byte // there may be hundreds of millions of messages
	name := strconv.AppendUint(append(append(append(room[:0], "message "...), tr.Name()...), ' '), number, 10)
	flow := transport.Flow{
		ID: packet.FlowID(id), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
		SrcPort: f.SrcPort, DstPort: f.DstPort, Version: tr.Version(), TOS: tr.TOSOf(f.Size),
		Start: start, Stop: unit.Never, Size: f.Size, Payload: tr.Payload(), Framing: b.point.Framing(),
		Random: unit.NewRandom(b.seed, string(name)), Seed: b.seed,
		Path: b.path(f), CC: controller, CCConfig: config,
		Telemetry: b.telemetry, Host: &b.hosts[f.Dst],
	}
	if scheme.Rebuild != nil {
		sender, receiver, err = scheme.Rebuild(flow, parameters, b.old(f.Group))
	}
	if sender == nil && err == nil {
		sender, receiver, err = scheme.Build(flow, parameters)
	}
	if err != nil {
		err = fmt.Errorf("traffic %s: %w", tr.Name(), err)
	}
	return sender, receiver, err
}

// mostOld is how many ends a traffic keeps of messages that are over.
const mostOld = 1024

// Recycle keeps the endpoints of a closed message for one that begins (sim.EndpointRecycler).
func (b *builder) Recycle(group int, sender, receiver transport.Endpoint) {
	if scheme, _ := b.point.Entry(group).Transport(); scheme.Rebuild == nil {
		return
	}
	if b.spare == nil {
		b.spare = make([][]transport.EndpointPair, b.point.Entries())
	}
	if all := b.spare[group]; len(all) < mostOld {
		b.spare[group] = append(all, transport.EndpointPair{Sender: sender, Receiver: receiver})
	}
}

// old are ends of a traffic's message that is over; none: none is left.
func (b *builder) old(group int) (ends transport.EndpointPair) {
	if group < len(b.spare) {
		if all := b.spare[group]; len(all) > 0 {
			n := len(all) - 1
			ends, all[n] = all[n], transport.EndpointPair{}
			b.spare[group] = all[:n]
		}
	}
	return ends
}

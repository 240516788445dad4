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

// addJobs adds the jobs of a run to c, also sets c.Ideal, and adds each job's entry of nicPrograms. It makes endpoints
// of one message of each job to find errors, unless the network is ideal.
func (b *builder) addJobs(c *sim.Config) error {
	c.Ideal = b.point.Ideal()
	for id := range b.point.Entries() {
		tr := b.point.Entry(id)
		j := tr.Job()
		if j == nil {
			continue
		}
		start, _ := tr.Start()
		c.Jobs = append(c.Jobs, outcome.Job{Group: id, Program: j.Program, Hosts: j.Hosts, Start: start})
		b.nicPrograms = append(b.nicPrograms, nil)
		if c.Ideal != nil || len(j.Hosts) < 2 {
			continue
		}
		if err := b.checkNICCount(id, j); err != nil {
			return err
		}
		if err := b.checkNamedNIC(id, j); err != nil {
			return err
		}
		if err := b.tryMessage(id, len(c.Jobs)-1, j); err != nil {
			return err
		}
	}
	return nil
}

// tryMessage makes the endpoints of a job's first message, to find errors in their parameters. id is the traffic,
// number the job's index in the run. A job may have no message.
func (b *builder) tryMessage(id, number int, j *experiment.Job) (err error) {
	tried := false
	j.Sends(func(from int, ref job.Ref, to int) bool {
		if tried {
			return false
		}
		tried = true
		start, _ := b.point.Entry(id).Start()
		f := outcome.Flow{Group: id, Src: j.Hosts[from], Dst: j.Hosts[to], Size: 1000, Start: start}
		m := job.Message{From: int32(from), Send: ref}
		if err = b.Message(number, &m, int32(to), &f, func(int) bool { return true }); err == nil {
			_, _, err = b.MessageEndpoints(&f, 0, 0, start)
		}
		return false
	})
	return err
}

// checkNICCount sets the last entry of nicPrograms if job j, which was added last, chooses the NICs of its messages. If
// the job demands a number of NICs, it returns an error for a host that sends but has fewer NICs with a path to the
// job's other hosts.
func (b *builder) checkNICCount(id int, j *experiment.Job) error {
	traits := job.TraitsOf(j.Program)
	nics, demands := traits.NICs, traits.RequiresNICs
	if nics == 0 {
		return nil
	}
	b.nicPrograms[len(b.nicPrograms)-1] = j.Program
	var sends []bool // by rank; nil: not needed yet
	for i, from := range j.Hosts {
		maxPaths := 0
		for k := 1; k < len(j.Hosts) && maxPaths < nics && demands; k++ {
			if _, ways, err := b.selector.PairOfTurn(0, from, j.Hosts[(i+k)%len(j.Hosts)]); err == nil {
				maxPaths = max(maxPaths, ways)
			}
		}
		if !demands || maxPaths >= nics {
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
			return &experiment.NoNIC{Traffic: id, Param: "nics", Allowed: fmt.Sprintf("nics: up to %d", maxPaths),
				Why: fmt.Errorf("traffic %s: nics is %d, but the number of NICs of %s with a path to other hosts of the job is %d",
					b.point.Entry(id).Name(), nics, b.point.Network().Nodes[from].Name, maxPaths)}
		}
	}
	return nil
}

// checkNamedNIC returns an error if the NIC that a traffic names has no path from a rank of its job to a receiver. Job
// j must be the one that was added last.
func (b *builder) checkNamedNIC(id int, j *experiment.Job) (err error) {
	tr := b.point.Entry(id)
	how, port := tr.NIC()
	if port < 0 || !b.point.Routes().NICs().HasSeveral() || b.nicPrograms[len(b.nicPrograms)-1] != nil {
		return nil
	}
	j.Sends(func(from int, _ job.Ref, to int) bool {
		if err == nil {
			if _, wrong := b.selector.ChoosePair(how, port, j.Hosts[from], j.Hosts[to], 0); wrong != nil {
				err = b.nicError(id, wrong)
			}
		}
		return err == nil
	})
	return err
}

// nicError returns the error that a NIC which a traffic requests is missing or has no path to a receiver.
func (b *builder) nicError(id int, cause error) error {
	return &experiment.NoNIC{Traffic: id,
		Allowed: "hash, round_robin, rail or a NIC with a path from each sender to its receivers",
		Why:     fmt.Errorf("traffic %s: %w", b.point.Entry(id).Name(), cause)}
}

// Tick returns the granularity of time of a traffic's transport and its controller (persistentEndpointFactory of
// package sim).
func (b *builder) Tick(group int) unit.Time {
	tr := b.point.Entry(group)
	transport, _ := tr.Transport()
	if controller, _ := tr.CC(); controller != nil {
		return max(transport.Tick, controller.Tick) // one is a multiple of the other
	}
	return transport.Tick
}

// sourcePorts is the number of source ports of flows.
const sourcePorts = 50000

// Message gives flow f, which represents message m of job j to rank to, the ports of its queue pair, its class and its
// NICs (sim.MessageEndpointFactory). All messages from one rank to another over the same lane or NIC have the same
// ports, in every iteration. Before the call f.Src and f.Dst are hosts, after it NICs. The function up reports whether
// a NIC has a link.
func (b *builder) Message(j int, m *job.Message, to int32, f *outcome.Flow, up func(nic int) bool) error {
	pair := uint64(uint32(m.From))<<32 | uint64(uint32(to))
	pair = (pair*0x9e3779b97f4a7c15 ^ uint64(m.Send.Lane)*0xbf58476d1ce4e5b9) + uint64(j)*0x94d049bb133111eb
	pair ^= pair >> 29
	pair *= 0xbf58476d1ce4e5b9
	pair ^= pair >> 32
	f.SrcPort, f.DstPort = uint16(firstPort+pair%sourcePorts), serverPort
	tr := b.point.Entry(f.Group)
	f.Class = tr.TOSOf(f.Size) >> 5
	if p := b.nicPrograms[j]; p != nil {
		nics, _, err := b.selector.PairOfTurn(int(p.Op(int(m.From), m.Send).NIC), f.Src, f.Dst)
		if err != nil {
			return fmt.Errorf("traffic %s: %w", tr.Name(), err)
		}
		f.Src, f.Dst = nics.From, nics.To
		return nil
	}
	how, port := tr.NIC()
	nics, err := b.selector.ChooseUpPair(how, port, f.Src, f.Dst, uint32(pair), up)
	if err != nil {
		return b.nicError(f.Group, err)
	}
	f.Src, f.Dst = nics.From, nics.To
	return nil
}

// State returns a pointer to the state that outlasts a message: the turns of the NIC selector, and what hosts share
// (persistentEndpointFactory of package sim).
func (b *builder) State() any {
	return &struct {
		Selector *topology.NICSelector
		Hosts    []cc.Host
	}{b.selector, b.hosts}
}

// messagePath returns the path of a message. It caches paths, since messages reuse them; a run with jobs has one
// thread.
func (b *builder) messagePath(f *outcome.Flow) cc.Path {
	key := [3]int{f.Src, f.Dst, f.Group}
	p, known := b.paths[key]
	if !known {
		if b.paths == nil {
			b.paths = map[[3]int]cc.Path{}
		}
		p = b.measured.Path(f.Src, f.Dst, &b.measured.Traffic[f.Group])
		b.paths[key] = p
	}
	return p
}

// MessageEndpoints returns both endpoints of a message, recycled ones if possible. f is the message as a flow between
// NICs, id its flow number, and number determines its random numbers (sim.MessageEndpointFactory).
func (b *builder) MessageEndpoints(f *outcome.Flow, id int, number uint64, start unit.Time) (sender,
	receiver transport.Endpoint, err error) {
	tr := b.point.Entry(f.Group)
	controller, config := tr.CC()
	scheme, parameters := tr.Transport()
	var room [32]byte // avoids an allocation: there may be hundreds of millions of messages
	name := strconv.AppendUint(append(append(append(room[:0], "message "...), tr.Name()...), ' '), number, 10)
	flow := transport.Flow{
		ID: packet.FlowID(id), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
		SrcPort: f.SrcPort, DstPort: f.DstPort, Version: tr.Version(), TOS: tr.TOSOf(f.Size),
		Start: start, Stop: unit.Never, Size: f.Size, Payload: tr.Payload(), Framing: b.point.Framing(),
		Random: unit.NewRandom(b.seed, string(name)), Seed: b.seed,
		Path: b.messagePath(f), CC: controller, CCConfig: config,
		Telemetry: b.telemetry, Host: &b.hosts[f.Dst],
	}
	if scheme.Rebuild != nil {
		sender, receiver, err = scheme.Rebuild(flow, parameters, b.takeRecycled(f.Group))
	}
	if sender == nil && err == nil {
		sender, receiver, err = scheme.Build(flow, parameters)
	}
	if err != nil {
		err = fmt.Errorf("traffic %s: %w", tr.Name(), err)
	}
	return sender, receiver, err
}

// maxRecycled limits the endpoints of finished messages that a traffic keeps.
const maxRecycled = 1024

// Recycle keeps the endpoints of a finished message of a traffic for a later one, up to maxRecycled; the caller must
// not use them any more (endpointRecycler of package sim).
func (b *builder) Recycle(group int, sender, receiver transport.Endpoint) {
	if scheme, _ := b.point.Entry(group).Transport(); scheme.Rebuild == nil {
		return
	}
	if b.recycled == nil {
		b.recycled = make([][]transport.EndpointPair, b.point.Entries())
	}
	if all := b.recycled[group]; len(all) < maxRecycled {
		b.recycled[group] = append(all, transport.EndpointPair{Sender: sender, Receiver: receiver})
	}
}

// takeRecycled removes and returns kept endpoints of a traffic; empty if no endpoints are kept.
func (b *builder) takeRecycled(group int) (ends transport.EndpointPair) {
	if group < len(b.recycled) {
		if all := b.recycled[group]; len(all) > 0 {
			n := len(all) - 1
			ends, all[n] = all[n], transport.EndpointPair{}
			b.recycled[group] = all[:n]
		}
	}
	return ends
}

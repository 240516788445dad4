package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"weir/core/jobs/collective"
	"weir/core/jobs/job"
	"weir/core/scheme"
	"weir/core/workload"
	"weir/internal/document"
)

// packets is the word for a network that carries packets.
const packets = "packets"

// Job is what hosts do together, in place of flows. Nothing changes it.
type Job struct {
	Program job.Program
	Hosts   []int // of its ranks
	files   []string
	sampled [][2]int // of hosts that send to each other, once sample has collected them
}

// Job returns the job of a traffic; nil: it has flows.
func (tr *Traffic) Job() *Job { return tr.job }

// Ideal returns the network that carries jobs in place of packets; nil: packets do.
func (p *Point) Ideal() job.Ideal { return p.ideal }

// jobDecoder reads traffics that are jobs, what carries them, and how their iterations follow each other.
type jobDecoder struct {
	*reader
	nodes   *nodeNames
	traffic *trafficDecoder
	built   map[string]*Job // by all that decides them
}

// readJob reads a traffic that is a job, or has the key collective, which stands for one.
func (d *jobDecoder) readJob(x document.Map, p *Point, tr Traffic) {
	node, what, allowed := x.Get("job"), "job", "job, hosts, start"
	others := append(traffic.Names(notRing), "size", "collective")
	if node == nil {
		what, allowed, others = "collective", "hosts, size, start", traffic.Names(notRing)
	}
	for _, key := range others {
		if v := x.Get(key); v != nil {
			d.Fail(v.Position, allowed, "%q stands beside %s, which decides who sends what to whom", key, what)
		}
	}
	if d.traffic.readStart(x, &tr, p); tr.startHigh > tr.startLow {
		d.Fail(x.Get("start").Position, "one time", "a %s begins at one time", what)
	}
	if node == nil {
		if node = d.convertCollective(x, tr.seen.Name); node == nil {
			return
		}
	}
	name, params := d.Named(node, "job")
	if params == nil {
		return
	}
	var s *job.Scheme
	var names []string
	for i := range d.registry.Jobs {
		if names = append(names, d.registry.Jobs[i].Name); d.registry.Jobs[i].Name == name {
			s = &d.registry.Jobs[i]
		}
	}
	if sort.Strings(names); s == nil {
		d.Unknown(x.Get("job").Position, "job", name, names)
		return
	}
	config := d.Configuration(&s.Scheme, params, nil)
	hosts, given := d.readRanks(x, p)
	if !d.entryOK() {
		return
	}
	if s.BuildFlows != nil {
		all, err := s.BuildFlows(config, job.Site{Members: len(hosts), Fixed: given})
		if err != nil {
			d.failJob(x, s, params, err)
			return
		}
		d.addFlows(x, p, tr, all, hosts)
		return
	}
	if tr.job = d.buildJob(x, p, s, config, params, hosts, given); tr.job == nil {
		return
	}
	if !d.nodes.checkPaths(hostsPlace(x), p, tr.job.pairs(p)) {
		return
	}
	tr.jobNode = params
	traits := job.TraitsOf(tr.job.Program)
	if traits.NICs > 0 && x.Get("nic") != nil && p.ideal == nil {
		d.warn(warnNIC, tr.nic.at, "traffic %s: nic counts for nothing, as the job says by which of %d NICs its messages go",
			tr.seen.Name, traits.NICs)
	}
	tr.seen.Job, tr.seen.Ranks, tr.seen.Bus = true, tr.job.Hosts, traits.Bus
	p.entries = append(p.entries, tr)
}

// readRanks returns the hosts of a job; given reports whether the file says them.
func (d *jobDecoder) readRanks(x document.Map, p *Point) (hosts []int, given bool) {
	if t := x.Get("hosts"); t != nil {
		return d.nodes.listEachHost(t, p, func(item *document.Node, name string) {
			d.Fail(item.Position, "each host once", "%q is among the hosts twice; a host has one rank of a job", name)
		}), true
	}
	for i, n := range p.seen.Network.Nodes {
		if !n.Switch {
			hosts = append(hosts, i)
		}
	}
	return hosts, false
}

// buildJob makes the program of a job among hosts; nil if something is wrong with it. Points that have the same share
// it.
func (d *jobDecoder) buildJob(x document.Map, p *Point, s *job.Scheme, config scheme.Config, params *document.Node,
	hosts []int, given bool) *Job {
	file := params
	var opened []string
	site := job.Site{Members: len(hosts), Fixed: given, Places: func(name string) ([]int, error) {
		return d.findMembers(params, p, hosts, name)
	}, Open: func(name string) ([]byte, string, error) {
		for _, k := range params.Keys { // what names it, or begins its name
			if k.Value.Text != "" && strings.HasPrefix(name, k.Value.Text) {
				file = k.Value
			}
		}
		before := d.Count()
		opened = append(opened, name)
		data, name := d.openFile(&document.Node{Position: file.Position, Text: name})
		if d.Count() > before {
			return nil, name, errUnread
		}
		if !bytes.ContainsFunc(data, func(r rune) bool { return r < '\t' }) { // else no line of it can be shown
			d.Remember(name, data)
		}
		return data, name, nil
	}, Exists: func(name string) bool {
		_, err := d.source.Open(filepath.ToSlash(name))
		return err == nil
	}}
	key := fmt.Sprintf("%s %s %v %v %p", s.Name, params.Flow(), hosts, d.nodes.groups, p.seen.Network)
	if j := d.built[key]; j != nil {
		for _, f := range j.files { // they are of this point, too
			d.openFile(&document.Node{Position: file.Position, Text: f})
		}
		return j
	}
	program, err := s.Build(config, site)
	if err != nil {
		d.failJob(x, s, params, err)
		return nil
	}
	j := &Job{Program: program, Hosts: hosts[:program.Ranks()], files: opened}
	if d.built == nil {
		d.built = map[string]*Job{}
	}
	d.built[key] = j
	return j
}

// failJob records why a job cannot be built, at the place of what is wrong.
func (d *jobDecoder) failJob(x document.Map, s *job.Scheme, params *document.Node, err error) {
	var wrong *scheme.Error
	var format *workload.FormatError
	switch {
	case errors.Is(err, errUnread):
	case errors.As(err, &wrong):
		at := params.Position
		if v := params.Find(wrong.Param); v != nil {
			at = v.Position
		}
		what := wrong.Param + ": "
		if wrong.Param == "hosts" { // they stand beside the job
			if what = ""; x.Get("hosts") != nil {
				at = x.Get("hosts").Position
			}
		}
		d.Fail(at, wrong.Allowed, "job %s: %s%v", s.Name, what, wrong.Err)
	case errors.As(err, &format):
		d.Tell(d.InFile(format.File, format.Line, format.Column), format.Msg)
	default:
		at := params.Position
		if v := x.Get("hosts"); v != nil {
			at = v.Position
		}
		d.Fail(at, "", "job %s: %v", s.Name, err)
	}
}

// findMembers returns the members of a job that a host, a group or a pattern means.
func (d *jobDecoder) findMembers(params *document.Node, p *Point, hosts []int, name string) (places []int, err error) {
	found, grouped := d.nodes.groups[name]
	if !grouped {
		before := d.Count()
		if found = d.nodes.matchNodes(params.Position, name, false, p.seen.Network); d.Count() > before {
			return nil, errUnread
		}
	}
	means := make(map[int]bool, len(found))
	for _, i := range found {
		means[i] = true
	}
	for k, i := range hosts {
		if means[i] {
			places = append(places, k)
		}
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("%q is no host of the job", name)
	}
	return places, nil
}

// errUnread is a file that could not be read, which is said already.
var errUnread = errors.New("unread")

// readIdeal reads what carries messages in place of packets.
func (d *jobDecoder) readIdeal(root document.Map, p *Point) {
	t := root.Get("network")
	if t == nil || t.Kind == document.Scalar && t.Text == packets {
		return
	}
	name, params := d.Named(t, "network")
	if params == nil {
		return
	}
	names := []string{packets}
	for i := range d.registry.Ideals {
		m := &d.registry.Ideals[i]
		if names = append(names, m.Name); m.Name != name {
			continue
		}
		config := d.Configuration(&m.Scheme, params, nil)
		var err error
		if p.ideal, err = m.Make(config); err != nil {
			d.Fail(params.Position, "", "%v", err)
		}
		p.seen.NoPackets = true
		return
	}
	d.Unknown(t.Position, "network", name, names)
}

// checkIdeal refuses what an ideal network cannot carry, and what cannot happen to it.
func (d *jobDecoder) checkIdeal(t *document.Node, p *Point) {
	taken := make([]string, len(p.seen.Network.Nodes))
	for i := range p.entries {
		tr := &p.entries[i]
		if tr.job == nil {
			d.Fail(tr.at, "jobs, or network: "+packets, "traffic %s has flows, and an ideal network carries jobs alone",
				tr.seen.Name)
			continue
		}
		for _, h := range tr.job.Hosts {
			if taken[h] != "" {
				d.Fail(tr.at, "hosts of its own", "host %s is of traffic %s and of %s: on an ideal network jobs do not meet",
					p.seen.Network.Nodes[h].Name, taken[h], tr.seen.Name)
				return
			}
			taken[h] = tr.seen.Name
		}
	}
	if len(p.seen.Events) > 0 {
		d.Fail(t.Position, "no events, or network: "+packets, "events happen to links, which an ideal network has not")
	}
	if p.stalls.Length > 0 {
		d.Fail(t.Position, "no stalls, or network: "+packets, "stalls hold up packets, which an ideal network has not")
	}
}

// sameJob reports whether two traffics have the same job.
func sameJob(a, b *Traffic) bool {
	if a.job == nil || b.job == nil {
		return a.job == b.job
	}
	return a.job.Program == b.job.Program && slices.Equal(a.job.Hosts, b.job.Hosts)
}

// readIterations reads how those of jobs follow each other.
func (d *jobDecoder) readIterations(root document.Map, p *Point) {
	value := root.Get("iterations")
	if value == nil {
		value = &document.Node{Position: root.Position, Kind: document.Mapping}
	} else if !slices.ContainsFunc(p.entries, func(tr Traffic) bool { return tr.job != nil }) && d.OK() {
		d.Fail(value.Position, "a traffic with a job", "there is no job, which could have iterations")
	}
	t, ok := d.Map(value, iterations)
	if !ok {
		return
	}
	p.anew = d.readWord(t.Default("draws"), iterations, "draws") == drawsAnew
	p.repeats = d.readWord(t.Default("repeat"), iterations, "repeat") == "true"
	if p.anew && d.OK() {
		if why := p.whyDrawsGoOn(); why != "" {
			d.Fail(t.Get("draws").Position, "one job, of a collective operation in iterations", "draws cannot begin anew: %s",
				why)
		}
	}
}

// whyDrawsGoOn returns the reason why random draws go on between iterations, whatever the file says; "": they can begin
// anew.
func (p *Point) whyDrawsGoOn() string {
	jobs, some := 0, false
	for i := range p.entries {
		j := p.entries[i].job
		if j == nil {
			continue
		}
		jobs++
		a, alike := j.Program.(job.Alike)
		some = some || alike && a.Ops(0, 0) > a.Each(0, 0)
	}
	switch {
	case jobs > 1:
		return "there are several jobs, whose iterations do not end together"
	case !some:
		return "the job does not say which of its operations are an iteration, or has one"
	}
	return ""
}

// Iterations reports whether iterations of jobs that recur are not carried out again, and whether random draws begin
// anew between them.
func (p *Point) Iterations() (repeat, anew bool) { return p.repeats, p.anew }

// warnCollective is the warning about the key that a job has taken the place of.
var warnCollective = scheme.WarningKind{ID: "collective-key",
	Condition: "collective and size stand for job: {" + collective.AllReduceFlows + ": {algorithm: …, size: …}}"}

// convertCollective returns the job that a traffic's key collective stands for, with a warning. Without the size that
// it needs it returns nil, and records the error.
func (d *jobDecoder) convertCollective(x document.Map, name string) *document.Node {
	algorithm, size := x.Get("collective"), x.Get("size")
	word := d.readWord(algorithm, traffic, "collective")
	if size == nil {
		x.Missing("size", "a collective needs the size of what every host has")
	}
	if word == "" || size == nil {
		return nil
	}
	at := algorithm.Position
	d.warn(warnCollective, at, "traffic %s: write job: {%s: {algorithm: %s, size: %s}} in place of collective and size",
		name, collective.AllReduceFlows, word, size.Text)
	params := &document.Node{Position: at, Kind: document.Mapping, Keys: []document.Entry{
		{Position: at, Name: "algorithm", Value: algorithm}, {Position: size.Position, Name: "size", Value: size}}}
	return &document.Node{Position: at, Kind: document.Mapping,
		Keys: []document.Entry{{Position: at, Name: collective.AllReduceFlows, Value: params}}}
}

// addFlows lists the flows of a job in which each message is a flow of the run.
func (d *jobDecoder) addFlows(x document.Map, p *Point, tr Traffic, all job.Flows, hosts []int) {
	at := hostsPlace(x)
	if !d.checkFlowCount(at, p, float64(all.Count())) || !d.nodes.checkPaths(at, p, listTransfers(p, all, hosts)) {
		return
	}
	p.flows.addReduction(reduction{Flows: all, traffic: len(p.entries), hosts: hosts, start: tr.startLow})
	tr.seen.Collective = true
	p.entries = append(p.entries, tr)
}

// hostsPlace returns where a traffic lists its hosts, or where it begins.
func hostsPlace(x document.Map) document.Position {
	if v := x.Get("hosts"); v != nil {
		return v.Position
	}
	return x.Position
}

// listTransfers returns the pairs of hosts that send to each other in a job. Where a group of switches has a NIC of
// each host, it returns no pair.
func listTransfers(p *Point, all job.Flows, hosts []int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		if p.seen.Routes.Common(hosts) {
			return
		}
		for k := range all.Count() {
			if src, dst, _ := all.Transfer(k); !yield(hosts[src], hosts[dst]) {
				return
			}
		}
	}
}

// maxSends limits the operations of a job that are examined for pairs of ranks that send to each other. What is beyond
// it ends the run with the same error.
const maxSends = 1 << 22

// pairs returns the pairs of hosts of a job that send to each other. Where a group of switches has a NIC of each host,
// it returns no pair.
func (j *Job) pairs(p *Point) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		if p.seen.Routes.Common(j.Hosts) {
			return
		}
		more := true
		j.Sends(func(from int, _ job.Ref, to int) bool {
			more = more && yield(j.Hosts[from], j.Hosts[to])
			return more
		})
	}
}

// Sends calls visit for each pair of ranks that send to each other (job.Sends).
func (j *Job) Sends(visit func(from int, at job.Ref, to int) (more bool)) {
	job.Sends(j.Program, maxSends, visit)
}

// sample returns pairs of hosts of a job that send to each other, at most maxPairs: of each rank the sends to the
// ranks that follow it most closely, the closest of all ranks first.
func (j *Job) sample() [][2]int {
	if j.sampled != nil {
		return j.sampled
	}
	n := len(j.Hosts)
	most := (maxPairs + n - 1) / max(n, 1)
	nearest := make([][]int, n) // by rank: distances of receivers, ascending
	j.Sends(func(from int, _ job.Ref, to int) bool {
		distance := (to - from + n) % n
		k, _ := slices.BinarySearch(nearest[from], distance)
		if nearest[from] = slices.Insert(nearest[from], k, distance); len(nearest[from]) > most {
			nearest[from] = nearest[from][:most]
		}
		return true
	})
	j.sampled = [][2]int{}
	for k := range most {
		for from, distances := range nearest {
			if k < len(distances) && len(j.sampled) < maxPairs {
				j.sampled = append(j.sampled, [2]int{j.Hosts[from], j.Hosts[(from+distances[k])%n]})
			}
		}
	}
	return j.sampled
}

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

// packets is the value of the key network for a network that carries packets.
const packets = "packets"

// Job is what hosts do together instead of sending flows. It is not changed after it is built.
type Job struct {
	Program      job.Program
	Hosts        []int // by rank
	files        []string
	sampledPairs [][2]int // pairs of hosts that send to each other; nil before the first call of samplePairs
}

// Job returns the job of a traffic; nil if it has flows.
func (tr *Traffic) Job() *Job { return tr.job }

// Ideal returns the ideal network that carries the jobs' messages; nil if packets carry them.
func (p *Point) Ideal() job.Ideal { return p.ideal }

// jobDecoder reads traffics that are jobs, ideal networks, and how iterations of jobs follow each other.
type jobDecoder struct {
	*reader
	nodes   *nodeNames
	traffic *trafficDecoder
	built   map[string]*Job // by everything that determines a job
}

// readJob reads a traffic that is a job, or has the key collective, and adds it to the point. A job that consists of
// flows adds its flows. Other keys that define flows are errors. After an error in the job, its hosts or their paths,
// it adds no flows.
func (d *jobDecoder) readJob(x document.Map, p *Point, tr Traffic) {
	node, what := x.Get("job"), "job"
	others := append(traffic.KeyNames(notJob), "size", "collective")
	if node == nil {
		what, others = "collective", traffic.KeyNames(notJob)
	}
	for _, key := range others {
		if v := x.Get(key); v != nil {
			d.Fail(v.Position, "remove "+key+", or remove "+what,
				"%q is given together with %s, which already determines what each host sends", key, what)
		}
	}
	if d.traffic.readStart(x, &tr, p); tr.startHigh > tr.startLow {
		d.Fail(x.Get("start").Position, "one time", "start is a range, but a %s has a single start time", what)
	}
	if node == nil {
		if node = d.convertCollective(x, tr.measured.Name); node == nil {
			return
		}
	}
	name, params := d.SplitNamed(node, "job")
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
		d.FailUnknown(x.Get("job").Position, "job", name, names)
		return
	}
	config := d.DecodeConfig(&s.Scheme, params, nil)
	hosts, given := d.readRanks(x, p)
	if !d.entryOK() {
		return
	}
	if s.BuildFlows != nil {
		all, err := s.BuildFlows(config, job.Site{Members: len(hosts), HasFixedMembers: given})
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
	if !d.nodes.checkPaths(hostsPlace(x), p, tr.job.listPairs(p)) {
		return
	}
	tr.jobNode = params
	traits := job.TraitsOf(tr.job.Program)
	if traits.NICs > 0 && x.Get("nic") != nil && p.ideal == nil {
		d.warn(warnNIC, tr.nic.place,
			"traffic %s: nic has no effect, since the job selects one of %d NICs for each message",
			tr.measured.Name, traits.NICs)
	}
	tr.measured.Job, tr.measured.Ranks, tr.measured.BusBytes = true, tr.job.Hosts, traits.Bus
	p.entries = append(p.entries, tr)
}

// readRanks returns the hosts of a job by rank. given reports whether the file lists them; without a list, they are all
// hosts of the network.
func (d *jobDecoder) readRanks(x document.Map, p *Point) (hosts []int, given bool) {
	if t := x.Get("hosts"); t != nil {
		return d.nodes.listEachHost(t, p, func(item *document.Node, name string) {
			d.Fail(item.Position, "each host once", "host %q is listed twice; a host has one rank of a job", name)
		}), true
	}
	for i, n := range p.measured.Network.Nodes {
		if !n.Switch {
			hosts = append(hosts, i)
		}
	}
	return hosts, false
}

// buildJob builds the program of a job among hosts; nil after an error. Points with the same job share it. The job may
// use fewer hosts than given: the first ones. It notes the files that the job opens as files of the point.
func (d *jobDecoder) buildJob(x document.Map, p *Point, s *job.Scheme, config scheme.Config, params *document.Node,
	hosts []int, given bool) *Job {
	file := params
	var opened []string
	site := job.Site{Members: len(hosts), HasFixedMembers: given, Places: func(name string) ([]int, error) {
		return d.findMembers(params, p, hosts, name)
	}, Open: func(name string) ([]byte, string, error) {
		for _, k := range params.Keys { // the parameter that has the name or its beginning
			if k.Value.Text != "" && strings.HasPrefix(name, k.Value.Text) {
				file = k.Value
			}
		}
		before := d.CountErrors()
		opened = append(opened, name)
		data, name := d.openFile(&document.Node{Position: file.Position, Text: name})
		if d.CountErrors() > before {
			return nil, name, errUnread
		}
		if !bytes.ContainsFunc(data, func(r rune) bool { return r < '\t' }) { // only text can be shown in errors
			d.Remember(name, data)
		}
		return data, name, nil
	}, Exists: func(name string) bool {
		_, err := d.source.Open(filepath.ToSlash(name))
		return err == nil
	}}
	key := fmt.Sprintf("%s %s %v %v %p", s.Name, params.FormatFlow(), hosts, d.nodes.groups, p.measured.Network)
	if j := d.built[key]; j != nil {
		for _, f := range j.files { // they are files of this point, too
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

// failJob reports why a job cannot be built, at the place of the cause. It reports no error for a file that could not
// be read, since that was reported.
func (d *jobDecoder) failJob(x document.Map, s *job.Scheme, params *document.Node, err error) {
	var wrong *scheme.Error
	var format *workload.FormatError
	switch {
	case errors.Is(err, errUnread):
	case errors.As(err, &wrong):
		place := params.Position
		if v := params.Find(wrong.Param); v != nil {
			place = v.Position
		}
		what := wrong.Param + ": "
		if wrong.Param == "hosts" { // hosts are not parameters of the job
			if what = ""; x.Get("hosts") != nil {
				place = x.Get("hosts").Position
			}
		}
		d.Fail(place, wrong.Allowed, "job %s: %s%v", s.Name, what, wrong.Err)
	case errors.As(err, &format):
		d.FailLines(d.PositionIn(format.File, format.Line, format.Column), format.Msg)
	default:
		place := params.Position
		if v := x.Get("hosts"); v != nil {
			place = v.Position
		}
		d.Fail(place, "", "job %s: %v", s.Name, err)
	}
}

// findMembers returns the members of a job, as indices in hosts, that match a host, a group or a pattern. If no member
// matches, it returns an error; after a reported error it returns errUnread.
func (d *jobDecoder) findMembers(params *document.Node, p *Point, hosts []int, name string) (places []int, err error) {
	found, grouped := d.nodes.groups[name]
	if !grouped {
		before := d.CountErrors()
		if found = d.nodes.matchNodes(params.Position, name, false, p.measured.Network); d.CountErrors() > before {
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
		return nil, fmt.Errorf("%q is not a host of the job", name)
	}
	return places, nil
}

// errUnread is the error of a file that could not be read. It has been reported.
var errUnread = errors.New("unread")

// readIdeal reads the ideal network into p.ideal, if the key network names one. Then it marks the point as one without
// packets, also after an error in its parameters.
func (d *jobDecoder) readIdeal(root document.Map, p *Point) {
	t := root.Get("network")
	if t == nil || t.Kind == document.Scalar && t.Text == packets {
		return
	}
	name, params := d.SplitNamed(t, "network")
	if params == nil {
		return
	}
	names := []string{packets}
	for i := range d.registry.Ideals {
		m := &d.registry.Ideals[i]
		if names = append(names, m.Name); m.Name != name {
			continue
		}
		config := d.DecodeConfig(&m.Scheme, params, nil)
		var err error
		if p.ideal, err = m.Make(config); err != nil {
			d.Fail(params.Position, "", "%v", err)
		}
		p.measured.NoPackets = true
		return
	}
	d.FailUnknown(t.Position, "network", name, names)
}

// checkIdeal reports errors for flows, shared hosts, events and stalls, which an ideal network does not support. t is
// the value of the key network.
func (d *jobDecoder) checkIdeal(t *document.Node, p *Point) {
	taken := make([]string, len(p.measured.Network.Nodes))
	for i := range p.entries {
		tr := &p.entries[i]
		if tr.job == nil {
			d.Fail(tr.place, "jobs or network: "+packets, "traffic %s has flows, but an ideal network carries jobs only",
				tr.measured.Name)
			continue
		}
		for _, h := range tr.job.Hosts {
			if taken[h] != "" {
				d.Fail(tr.place, "hosts that no other traffic uses",
					"host %s belongs to traffic %s and to %s, but jobs on an ideal network cannot share a host",
					p.measured.Network.Nodes[h].Name, taken[h], tr.measured.Name)
				return
			}
			taken[h] = tr.measured.Name
		}
	}
	if len(p.measured.Events) > 0 {
		d.Fail(t.Position, "no events or network: "+packets, "events change links, but an ideal network has no links")
	}
	if p.stalls.Length > 0 {
		d.Fail(t.Position, "no stalls or network: "+packets, "stalls delay packets, but an ideal network has no packets")
	}
}

// sameJob reports whether two traffics have the same job on the same hosts; true if both have no job.
func sameJob(a, b *Traffic) bool {
	if a.job == nil || b.job == nil {
		return a.job == b.job
	}
	return a.job.Program == b.job.Program && slices.Equal(a.job.Hosts, b.job.Hosts)
}

// readIterations reads how iterations of jobs follow each other into p.restartsDraws and p.repeats. Without the key
// they have its defaults. The key requires a traffic with a job.
func (d *jobDecoder) readIterations(root document.Map, p *Point) {
	value := root.Get("iterations")
	if value == nil {
		value = &document.Node{Position: root.Position, Kind: document.Mapping}
	} else if !slices.ContainsFunc(p.entries, func(tr Traffic) bool { return tr.job != nil }) && d.OK() {
		d.Fail(value.Position, "a traffic with a job", "iterations is given, but no traffic has a job")
	}
	t, ok := d.ReadMap(value, iterations)
	if !ok {
		return
	}
	p.restartsDraws = d.readWord(t.GetDefault("draws"), iterations, "draws") == drawsAnew
	p.repeats = d.readWord(t.GetDefault("repeat"), iterations, "repeat") == "true"
	if p.restartsDraws && d.OK() {
		if why := p.whyDrawsGoOn(); why != "" {
			d.Fail(t.Get("draws").Position, "a single job: a collective operation with several iterations",
				"draws: anew is not possible: %s",
				why)
		}
	}
}

// whyDrawsGoOn returns why random draws cannot restart at each iteration; "" if they can.
func (p *Point) whyDrawsGoOn() string {
	jobs, some := 0, false
	for i := range p.entries {
		j := p.entries[i].job
		if j == nil {
			continue
		}
		jobs++
		a, alike := j.Program.(job.RecurringProgram)
		some = some || alike && a.Ops(0, 0) > a.Each(0, 0)
	}
	switch {
	case jobs > 1:
		return "several jobs are given, and their iterations do not end together"
	case !some:
		return "the job has a single iteration, or does not mark the operations of an iteration"
	}
	return ""
}

// Iterations reports whether iterations that recur exactly are copied instead of simulated, and whether random draws
// restart at each iteration.
func (p *Point) Iterations() (repeat, anew bool) { return p.repeats, p.restartsDraws }

// warnCollective is the warning about the key collective, which job replaces.
var warnCollective = scheme.WarningKind{ID: "collective-key",
	Condition: "collective and size are deprecated; use job: {" + collective.AllReduceFlows + ": {algorithm: …, size: …}}"}

// convertCollective returns the job that is equivalent to a traffic's key collective, with a warning. It returns nil
// and reports an error if the size is missing or the algorithm is unknown. name is the traffic's name.
func (d *jobDecoder) convertCollective(x document.Map, name string) *document.Node {
	algorithm, size := x.Get("collective"), x.Get("size")
	word := d.readWord(algorithm, traffic, "collective")
	if size == nil {
		x.FailMissing("size", "collective needs the key size: the data of each host")
	}
	if word == "" || size == nil {
		return nil
	}
	place := algorithm.Position
	d.warn(warnCollective, place,
		"traffic %s: collective and size are deprecated; use job: {%s: {algorithm: %s, size: %s}}",
		name, collective.AllReduceFlows, word, size.Text)
	params := &document.Node{Position: place, Kind: document.Mapping, Keys: []document.Entry{
		{Position: place, Name: "algorithm", Value: algorithm}, {Position: size.Position, Name: "size", Value: size}}}
	return &document.Node{Position: place, Kind: document.Mapping,
		Keys: []document.Entry{{Position: place, Name: collective.AllReduceFlows, Value: params}}}
}

// addFlows adds the flows of a job in which each message is a flow of the run. It starts them at the traffic's
// startLow, and adds the traffic to the point. It adds them only if they fit into memory and all paths exist.
func (d *jobDecoder) addFlows(x document.Map, p *Point, tr Traffic, jobFlows job.Flows, hosts []int) {
	place := hostsPlace(x)
	if !d.checkFlowCount(place, p, float64(jobFlows.Count())) ||
		!d.nodes.checkPaths(place, p, listTransfers(p, jobFlows, hosts)) {
		return
	}
	p.flows.addReduction(reduction{Flows: jobFlows, traffic: len(p.entries), hosts: hosts, start: tr.startLow})
	tr.measured.Collective = true
	p.entries = append(p.entries, tr)
}

// hostsPlace returns the place of a traffic's hosts, or of the traffic without them.
func hostsPlace(x document.Map) document.Position {
	if v := x.Get("hosts"); v != nil {
		return v.Position
	}
	return x.Position
}

// listTransfers returns the pairs of hosts that send to each other in a job. If one group of switches has a NIC of
// each host, all paths exist, and it returns no pairs.
func listTransfers(p *Point, flows job.Flows, hosts []int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		if p.measured.Routes.ShareGroup(hosts) {
			return
		}
		for k := range flows.Count() {
			if src, dst, _ := flows.Transfer(k); !yield(hosts[src], hosts[dst]) {
				return
			}
		}
	}
}

// maxSends limits the operations of a job that are examined for pairs of ranks that send to each other. An error in
// later operations is an error of the run.
const maxSends = 1 << 22

// listPairs returns the pairs of hosts of a job that send to each other. If one group of switches has a NIC of each
// host, all paths exist, and it returns no pairs.
func (j *Job) listPairs(p *Point) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		if p.measured.Routes.ShareGroup(j.Hosts) {
			return
		}
		more := true
		j.Sends(func(from int, _ job.Ref, to int) bool {
			more = more && yield(j.Hosts[from], j.Hosts[to])
			return more
		})
	}
}

// Sends calls visit for each pair of ranks that send to each other (job.VisitSends). It stops when visit returns false,
// and after maxSends operations.
func (j *Job) Sends(visit func(from int, ref job.Ref, to int) (more bool)) {
	job.VisitSends(j.Program, maxSends, visit)
}

// samplePairs returns at most maxPairs pairs of hosts of a job that send to each other. It prefers the receivers that
// follow their sender most closely in the order of ranks. It stores the result. It must not be called concurrently.
func (j *Job) samplePairs() [][2]int {
	if j.sampledPairs != nil {
		return j.sampledPairs
	}
	n := len(j.Hosts)
	maxPerRank := (maxPairs + n - 1) / max(n, 1)
	nearest := make([][]int, n) // by rank: distances of receivers, ascending
	j.Sends(func(from int, _ job.Ref, to int) bool {
		distance := (to - from + n) % n
		k, _ := slices.BinarySearch(nearest[from], distance)
		if nearest[from] = slices.Insert(nearest[from], k, distance); len(nearest[from]) > maxPerRank {
			nearest[from] = nearest[from][:maxPerRank]
		}
		return true
	})
	j.sampledPairs = [][2]int{}
	for k := range maxPerRank {
		for from, distances := range nearest {
			if k < len(distances) && len(j.sampledPairs) < maxPairs {
				j.sampledPairs = append(j.sampledPairs, [2]int{j.Hosts[from], j.Hosts[(from+distances[k])%n]})
			}
		}
	}
	return j.sampledPairs
}

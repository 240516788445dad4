package e2e

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/core/cc"
	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/jobs/job"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit"
)

// TestTraits_MatchGoldenFile compares the traits of each registered scheme with a golden file: with its defaults,
// and with other values of one parameter, or of two words. The file lists each set of traits with the first
// parameters that give it, and the number of others that do. After the first set it has only the differences from
// it, and a checksum for pairs of words. Any parameter may have an influence, so a configuration that wraps another
// and loses one of its traits is visible in the file.
func TestTraits_MatchGoldenFile(t *testing.T) {
	var text strings.Builder
	list := func(kind string, s scheme.Scheme, traits func(scheme.Config) string) {
		fmt.Fprintf(&text, "%s %s\n%s", kind, s.Name, listTraits(s, traits))
	}
	r := app.Registry()
	for _, s := range r.Programs {
		list("program", s.Scheme, programTraits)
	}
	for _, s := range r.Schedulers {
		list("scheduler", s.Scheme, programTraits)
	}
	for _, s := range r.Controllers {
		list("controller", s.Scheme, controllerTraits)
	}
	for _, s := range r.Transports {
		list("transport", s.Scheme, transportTraits)
		if s.Captured != nil {
			list("captured transport", s.Captured.Scheme, transportTraits)
		}
	}
	for _, s := range r.Jobs {
		list("job", s.Scheme, func(c scheme.Config) string { return jobTraits(&s, c) })
	}
	testkit.Golden(t, "traits.txt", text.String())
}

// TestTraitsAreSet checks that each field of a Traits struct is set by some registered scheme, with its defaults or
// with another value of one parameter.
func TestTraitsAreSet(t *testing.T) {
	unset := map[string]bool{}
	see := func(traits any) {
		v := reflect.ValueOf(traits)
		for i := range v.NumField() {
			name := v.Type().String() + "." + v.Type().Field(i).Name
			if set := !v.Field(i).IsZero(); set {
				unset[name] = false
			} else if _, known := unset[name]; !known {
				unset[name] = true
			}
		}
	}
	each := func(s scheme.Scheme, traits func(c scheme.Config)) {
		singles, _ := variants(s)
		if s.Name == "ecn" { // both are in bytes, or both in packets
			singles = append(singles, []string{"kmin", "2 packets", "kmax", "2 packets"})
		}
		for _, given := range singles {
			if c, err := s.Configure(given...); err == nil {
				traits(c)
			}
		}
	}
	r := app.Registry()
	for _, s := range r.Programs {
		each(s.Scheme, func(c scheme.Config) { see(dataplane.TraitsOf(c)) })
	}
	for _, s := range r.Schedulers {
		each(s.Scheme, func(c scheme.Config) {
			if x, ok := c.(interface{ Traits() tm.Traits }); ok {
				see(x.Traits())
			}
			see(dataplane.TraitsOf(c))
		})
	}
	for _, s := range r.Controllers {
		each(s.Scheme, func(c scheme.Config) { see(cc.TraitsOf(c)) })
	}
	for _, s := range r.Transports {
		each(s.Scheme, func(c scheme.Config) { see(transport.TraitsOf(c)) })
	}
	for _, s := range r.Jobs {
		if s.Build == nil { // its messages are flows, and it has no traits
			continue
		}
		each(s.Scheme, func(c scheme.Config) {
			if p, err := s.Build(c, jobSite); err == nil {
				see(job.TraitsOf(p))
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(unset)) {
		if unset[name] {
			t.Errorf("%s is set by no scheme", name)
		}
	}
	if len(unset) < 60 {
		t.Errorf("%d fields of Traits", len(unset))
	}
}

// listTraits lists the different traits of a scheme's configurations.
func listTraits(s scheme.Scheme, traits func(scheme.Config) string) string {
	type entry struct {
		traits, first string
		count         int
	}
	var entries []entry
	singles, pairs := variants(s)
	for _, given := range singles {
		c, err := s.Configure(given...)
		if err != nil {
			continue
		}
		is := traits(c)
		if i := slices.IndexFunc(entries, func(e entry) bool { return e.traits == is }); i >= 0 {
			entries[i].count++
			continue
		}
		entries = append(entries, entry{is, strings.Join(given, " "), 1})
	}
	var text strings.Builder
	for i, e := range entries {
		is := e.traits
		if i > 0 {
			is = difference(entries[0].traits, is)
		}
		fmt.Fprintf(&text, "  %d with [%s]\n%s", e.count, e.first, is)
	}
	sum, count := sha256.New(), 0
	for _, given := range pairs {
		if c, err := s.Configure(given...); err == nil {
			fmt.Fprintln(sum, given, traits(c))
			count++
		}
	}
	if count > 0 {
		fmt.Fprintf(&text, "  %d pairs of words %x\n", count, sum.Sum(nil)[:8])
	}
	return text.String()
}

// difference lists the lines that only one of two texts has.
func difference(first, second string) string {
	var text strings.Builder
	a, b := strings.SplitAfter(first, "\n"), strings.SplitAfter(second, "\n")
	for _, line := range a {
		if !slices.Contains(b, line) {
			text.WriteString("  -" + line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			text.WriteString("  +" + line)
		}
	}
	return text.String()
}

// variants returns parameters of a scheme's configurations: those that it requires, with each value of one other, and
// with each pair of words.
func variants(s scheme.Scheme) (singles, pairs [][]string) {
	var required []string
	for _, p := range s.Parameters() {
		if p.Required {
			required = append(required, p.Name, values(p)[0])
		}
	}
	singles = append(singles, required)
	words := [][]string{}
	for _, p := range s.Parameters() {
		for _, v := range values(p) {
			singles = append(singles, append(slices.Clip(required), p.Name, v))
			if p.Kind != scheme.Map && len(p.Words) > 0 || p.Kind == scheme.Bool {
				words = append(words, []string{p.Name, v})
			}
		}
	}
	for i, x := range words {
		for _, y := range words[i+1:] {
			if x[0] != y[0] {
				pairs = append(pairs, slices.Concat(required, x, y))
			}
		}
	}
	return singles, pairs
}

// candidates are values to try for parameters. Values that a parameter does not allow are skipped.
var candidates = []string{"true", "false", "0", "1", "2", "7", "100", "1000", "0.3", "1.5", "0%", "10%", "100%", "0s",
	"1us", "5ms", "2s", "0bps", "1Mbps", "10Gbps", "100kpps", "0 B", "1 B", "64 B", "20kB", "1MB", "1 packet",
	"20 packets", "{0: 3}", "{0: 10%}", "{0: 5ms}", "{0: outside}", "{h1: 1.5}", "{h1: 10%}", "{10.0.0.1: 5Mbps}",
	"{10.0.0.0/8: 1}", "{10.0.0.1: 10%}", "{1Gbps: 100kB}", "{1Gbps: 20%}", "{s: outside}", "{a: 5Mbps}"}

// values are values that a parameter may have.
func values(p *scheme.Param) (all []string) {
	if p.Kind != scheme.Map && len(p.Words) > 0 {
		return p.Words
	}
	for _, v := range candidates {
		if p.Set(v) == nil {
			all = append(all, v)
		}
	}
	if p.Kind == scheme.Text {
		return []string{"x"}
	}
	return all
}

// traitList is a list of traits that differ from their zero values.
type traitList struct{ strings.Builder }

func (l *traitList) add(name string, value any) {
	switch value {
	case nil, "", false, 0, 0.0, int64(0), unit.Time(0), unit.Bytes(0), unit.Rate(0):
	default:
		fmt.Fprintf(l, "    %s: %v\n", name, value)
	}
}

// programTraits lists the traits of a program's or scheduler's configuration.
func programTraits(c scheme.Config) string {
	var l traitList
	t := dataplane.TraitsOf(c)
	l.add("not standalone", t.WhyNotStandalone)
	l.add("forwards", t.Forwards)
	l.add("uses port", t.UsesPort)
	l.add("selects path", t.SelectsPath)
	l.add("chooses port standalone", t.ChoosesPort(true))
	l.add("chooses port", t.ChoosesPort(false))
	l.add("spreads", int(t.Spreads))
	if t.MarksFrom != nil {
		l.add("marks from", fmt.Sprint(t.MarksFrom(unit.Gbps), t.MarksFrom(25*unit.Gbps), t.MarksFrom(400*unit.Gbps)))
	}
	l.add("marks from packets", int(t.MarksFromPackets))
	l.add("answers requests", t.AnswersRequests)
	l.add("drops early", t.DropsEarly)
	l.add("limits queues", t.LimitsQueues)
	l.add("trims", t.Trims)
	l.add("max queue delay", t.MaxQueueDelay)
	l.add("reorders", t.Reorders)
	l.add("pauses", t.Pauses)
	for _, proto := range []uint8{packet.ProtoTCP, packet.ProtoUDP, packet.ProtoRDMA, packet.ProtoOwn} {
		l.add(fmt.Sprint("supplies protocol ", proto), t.Supplies != nil && t.Supplies(proto))
	}
	if t.Telemetry != nil {
		f, err := t.Telemetry([]unit.Rate{10 * unit.Gbps, 100 * unit.Gbps})
		l.add("telemetry", fmt.Sprint(f.Profile.Name, f.Hops, f.Sojourn, f.Microseconds, f.HPCC, f.PINT.Bytes(),
			f.LoadInterval, f.Load,
			f.Queue, f.InFraming, err))
	}
	if t.MaxBacklog != nil {
		l.add("max backlog", fmt.Sprint(t.MaxBacklog(1538, nil), t.MaxBacklog(1538, []int64{10, 1})))
	}
	if t.MaxQueue != nil {
		l.add("max queue", fmt.Sprint(t.MaxQueue(4), t.MaxQueue(64)))
	}
	if t.Turns != nil {
		l.add("turns", fmt.Sprint(t.Turns(4)))
	}
	if t.TargetParam != "" {
		l.add("target", fmt.Sprint(t.TargetParam, " ", t.Target))
	}
	l.add("raises target", t.RaisesTarget)
	if t.NamedUsers != nil {
		names, peers := t.NamedUsers()
		l.add("named users", fmt.Sprint(names, peers))
	}
	l.add("polices users", t.PolicesUsers)
	return l.String()
}

// controllerTraits lists the traits of a controller's configuration.
func controllerTraits(c scheme.Config) string {
	var l traitList
	t := cc.TraitsOf(c)
	if t.Reads != 0 {
		l.add("reads", t.Reads.String())
	}
	if within := t.FlowCountTime(&cc.Path{BaseRTT: 10 * unit.Microsecond}); within > 0 {
		l.add("counts flows within", fmt.Sprint(t.FlowCountTime(&cc.Path{}), " ", within))
	}
	l.add("has agent preset", t.HasAgentPreset())
	l.add("follows Linux", t.FollowsLinux())
	if t.Agent != nil {
		agent, remarks := t.Agent()
		l.add("agent", fmt.Sprintf("%+v", agent))
		for _, r := range remarks {
			l.add("agent cannot", r.Param+": "+r.Text)
		}
	}
	l.add("patient", t.Patient)
	return l.String()
}

// transportTraits lists the traits of a transport's configuration.
func transportTraits(c scheme.Config) string {
	var l traitList
	t := transport.TraitsOf(c)
	l.add("app rate", t.AppRate)
	l.add("needs order", t.WhyInOrder)
	l.add("keeps slow", t.KeepsSlow)
	l.add("paths", t.Paths)
	for mode, name := range []string{"as configured", "DCTCP", "CNP"} {
		l.add("unmarked "+name, t.ReasonUnmarked(cc.ECNMode(mode)))
	}
	l.add("unmeasured", t.WhyUnmeasured)
	l.add("ack delay", t.AckDelay)
	l.add("own stack", t.OwnStack)
	l.add("carries requests", t.CarriesRequests)
	l.add("unanswered", t.ReasonUnanswered())
	l.add("supplied", t.TakesSupply)
	if t.Telemetry != nil {
		l.add("asks", fmt.Sprintf("%+v", *t.Telemetry))
	}
	l.add("unrecorded", t.ReasonUnrecorded())
	l.add("upon congestion", t.AsksUponCongestion())
	l.add("separates acks", t.SeparatesAcks != nil && t.SeparatesAcks(0))
	l.add("separates acks of TOS 0x20", t.SeparatesAcks != nil && t.SeparatesAcks(0x20))
	l.add("delays acks", t.DelaysAcks)
	l.add("min timeout", t.MinTimeout)
	if t.Timer != nil {
		for _, p := range []cc.Path{{}, {BaseRTT: 10 * unit.Microsecond, MaxQueueing: unit.Millisecond},
			{BaseRTT: 10 * unit.Microsecond, MaxQueueing: unit.Never, Reorders: true}} {
			l.add("timer", fmt.Sprintf("%+v", t.Timer(&p)))
		}
	}
	return l.String()
}

// goalFile is a job of a GOAL file, in which messages take two NICs.
const goalFile = `num_ranks 2
rank 0 {
a: calc 100
b: send 1000b to 1 tag 0 nic 1
b requires a
}
rank 1 {
a: recv 1000b from 0 tag 0
}
`

// jobSite is the site of a job whose files are all goalFile.
var jobSite = job.Site{Members: 8, Places: func(string) ([]int, error) { return []int{1}, nil },
	Open:   func(file string) ([]byte, string, error) { return []byte(goalFile), file, nil },
	Exists: func(string) bool { return false }}

// jobTraits lists the traits of a job of a configuration, or the number of its flows.
func jobTraits(s *job.Scheme, c scheme.Config) string {
	var l traitList
	if s.BuildFlows != nil {
		flows, err := s.BuildFlows(c, jobSite)
		if err != nil {
			return "    cannot be built\n"
		}
		l.add("flows", flows.Count())
		return l.String()
	}
	p, err := s.Build(c, jobSite)
	if err != nil {
		return "    cannot be built\n"
	}
	t := job.TraitsOf(p)
	l.add("messages", t.Messages)
	l.add("bytes", t.Bytes)
	l.add("bus", t.Bus)
	l.add("NICs", t.NICs)
	l.add("requires NICs", t.RequiresNICs)
	for rank := range p.Ranks() {
		l.add(fmt.Sprint("serves ", rank), job.IsServer(p, rank))
	}
	l.add("period", t.Period)
	l.add("iterations", t.Iterations)
	l.add("LogGOPSim order", t.LogGOPSimOrder)
	return l.String()
}

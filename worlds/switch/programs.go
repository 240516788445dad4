package softswitch

import (
	"fmt"
	"slices"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/switchfile"
	"weir/worlds/switch/control"
)

// running is a program with the inputs that it was built from.
type running struct {
	dataplane.Program
	name   string // name of the scheme
	text   string
	lines  []dataplane.Line // lines of its site
	limits []tm.Limit       // limits of its site, if the build read them
	users  []string         // names of the users declared in the file

	metered dataplane.Metered // nil without metrics
	names   [][]byte          // names of its metrics
}

// newRunning builds a program named by a file at a site, and notes the inputs that it has read, for which it clears
// site.LimitsRead before. It does not adopt state.
func newRunning(site *dataplane.Site, w *switchfile.Program) (running, error) {
	site.LimitsRead = false
	p, err := w.Scheme.Build(site, w.Config)
	if err != nil {
		return running{}, fmt.Errorf("program %s: %w", w.Scheme.Name, err)
	}
	r := running{Program: p, name: w.Scheme.Name, text: w.CanonicalText(), lines: site.Lines, users: declaredAt(site)}
	if site.LimitsRead {
		r.limits = site.Limits
	}
	if x, ok := p.(dataplane.Metered); ok {
		r.metered = x
		for _, m := range x.Metrics() {
			r.names = append(r.names, []byte(m.Name))
		}
	}
	return r, nil
}

// isSame reports whether a build with that text at that site would give the same program.
func (r *running) isSame(text string, site *dataplane.Site) bool {
	return r.text == text && slices.Equal(r.lines, site.Lines) && slices.Equal(r.users, declaredAt(site)) &&
		(r.limits == nil || slices.Equal(r.limits, site.Limits))
}

// declaredAt returns the names of the users declared in the file of a site.
func declaredAt(site *dataplane.Site) (names []string) {
	if site.Book == nil {
		return nil
	}
	for _, u := range site.Book.Users() {
		names = append(names, u.Name)
	}
	return names
}

// maxLost limits the items of lost state that a note lists; the rest is counted. A program may have thousands of
// meters.
const maxLost = 20

// adoptState takes over the state of old if the program can; old must not run afterwards. The note for the log
// describes the result; it is empty if no state was lost and the parameters are equal.
func (r *running) adoptState(now unit.Time, old *running) (note string) {
	var kept string
	var lost []string
	if x, ok := r.Program.(dataplane.Adopter); ok {
		kept, lost = x.Adopt(now, old.Program)
	}
	switch {
	case r.text == old.text && kept == "":
		return r.name + " restarts, because the ports' rates or buffers have changed"
	case r.text == old.text && len(lost) == 0:
		return ""
	case r.text == old.text:
		note = r.name + " keeps " + kept + " at the ports' new rates or buffers"
	case kept == "":
		return r.name + " has other parameters and restarts"
	default:
		note = r.name + " has other parameters and keeps " + kept
	}
	for i, x := range lost {
		if i == maxLost {
			return note + fmt.Sprintf("; lost: %d more", len(lost)-i)
		}
		note += "; lost: " + x
	}
	return note
}

// listPrograms returns the programs of a list, followed by the switch's built-in ones.
func listPrograms(list []running, builtIn ...dataplane.Program) (all []dataplane.Program) {
	for _, p := range list {
		all = append(all, p.Program)
	}
	return append(all, builtIn...)
}

// evictAddress makes programs and the ports' schedulers drop the state of address number a before the number is reused.
func evictAddress(list []running, ports []*tm.Port, a packet.Addr) {
	for _, p := range ports {
		p.EvictAddress(a)
	}
	for _, p := range list {
		if x, ok := p.Program.(dataplane.AddressEvictor); ok {
			x.EvictAddress(a)
		}
	}
}

// replacePrograms builds the wanted programs next to the old ones. An unchanged program continues, a changed one takes
// over its predecessor's state if it can (dataplane.Adopter), and the others start fresh. The old list stays as it is,
// for an error. The notes for the log list kept and lost state. At the start old is nil, and there are no notes.
func replacePrograms(now unit.Time, site *dataplane.Site, old []running, wanted []switchfile.Program) (list []running,
	notes []string, err error) {
	for _, w := range wanted {
		i := slices.IndexFunc(old, func(r running) bool { return r.name == w.Scheme.Name })
		if i >= 0 && old[i].isSame(w.CanonicalText(), site) {
			list = append(list, old[i])
			continue
		}
		r, err := newRunning(site, &w)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case i >= 0:
			if note := r.adoptState(now, &old[i]); note != "" {
				notes = append(notes, note)
			}
		case old != nil:
			notes = append(notes, w.Scheme.Name+" starts now")
		}
		list = append(list, r)
	}
	for _, x := range old {
		if !slices.ContainsFunc(wanted, func(w switchfile.Program) bool { return w.Scheme.Name == x.name }) {
			notes = append(notes, x.name+" has ended")
		}
	}
	return list, notes, nil
}

// sampler copies samples of programs into the shared counters without allocation.
type sampler struct {
	samples [control.MaxSamples]dataplane.Sample
	label   [2 * control.MaxText]byte
}

// addSamples adds the samples of a program at now to c, as far as c has space. A program without metrics adds no
// sample.
func (s *sampler) addSamples(now unit.Time, r *running, c *control.Counters) {
	if r.metered == nil {
		return
	}
	samples := s.samples[:control.MaxSamples-c.Samples]
	clear(samples) // remove the previous program's samples
	n := r.metered.Sample(now, samples)
	for i := range samples[:max(0, min(n, len(samples)))] {
		x := &samples[i]
		if x.Metric < 0 || x.Metric >= len(r.names) {
			continue
		}
		to := &c.Sample[c.Samples]
		*to = control.Sample{Port: uint8(min(x.Port, control.MaxPorts)), Value: x.Value}
		to.Name.Set(r.names[x.Metric])
		to.Label.Set(x.AppendLabel(s.label[:0]))
		c.Samples++
	}
}

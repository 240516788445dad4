package jetstream

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Status is how a sweep stands.
type Status struct {
	Workers  []WorkerStatus // in the order of their names
	Queued   int            // runs that were handed over and have not come back
	Done     int            // that came back with a result
	Failed   int            // with an error
	Checked  int            // that were made twice and compared
	Lost     int            // workers that did not come back with a run
	Twice    int            // results of runs that were there already
	SetAside int            // workers that gave something wrong
	Waiting  string         // why nothing goes on; "": it does
	Events   []string       // what was told
}

// WorkerStatus is one of its workers.
type WorkerStatus struct {
	Name string
	Jobs int
	Hand int // runs that it carries out now
	Done int
	Gone bool
	Bad  string
}

// unheard is for how long a worker says nothing before it is thought to be gone.
func (c *Config) unheard() time.Duration { return max(3*presence, c.patience) }

// report tells how the sweep stands.
func (c *Coordinator) report() {
	c.lock.Lock()
	for _, m := range c.members {
		if !m.gone && time.Since(m.heard) > c.unheard() {
			m.gone = true
			c.noticeWorker("%s is not heard any more", m.name)
		}
	}
	for _, k := range c.verifier.checks {
		if !k.judging && !c.members.hasOther(k.t.class, k.not()...) {
			c.verifier.recheck(k)
		}
	}
	s := c.now()
	c.lock.Unlock()
	if c.OnStatus != nil {
		c.OnStatus(s)
	}
}

// now is the status. The lock is held.
func (c *Coordinator) now() Status {
	s := c.status
	s.Events = slices.Clone(s.Events)
	hand := map[*member]int{}
	for _, t := range c.tasks {
		if m := t.holder(); m != nil && !t.over {
			hand[m]++
		}
	}
	for _, m := range c.members {
		if !m.refused {
			s.Workers = append(s.Workers, WorkerStatus{m.name, m.jobs, hand[m], m.done, m.gone, m.bad})
		}
	}
	slices.SortFunc(s.Workers, func(a, b WorkerStatus) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Status is how the sweep stands, also after its end.
func (c *Coordinator) Status() Status {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.now()
}

// there is how many workers are.
func (s *Status) there() (workers int) {
	for _, w := range s.Workers {
		if !w.Gone && w.Bad == "" {
			workers++
		}
	}
	return workers
}

// Short is it in a few words, for a line that is written over.
func (s Status) Short() string {
	if s.Waiting != "" {
		return "waits"
	}
	text := fmt.Sprintf("%d workers", s.there())
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	return text + fmt.Sprintf(", %d queued", s.Queued)
}

// String is it in a sentence or two.
func (s Status) String() string {
	var b strings.Builder
	made := 0
	for _, w := range s.Workers {
		if w.Done > 0 {
			made++
		}
	}
	fmt.Fprintf(&b, "%d runs came back from %d workers, %d with an error; %d were made twice and compared",
		s.Done+s.Failed, made, s.Failed, s.Checked)
	if s.Lost > 0 {
		fmt.Fprintf(&b, "; workers were lost with a run %d times", s.Lost)
	}
	if s.Twice > 0 {
		fmt.Fprintf(&b, "; %d results came twice", s.Twice)
	}
	if s.SetAside > 0 {
		fmt.Fprintf(&b, "; %d workers gave something wrong and were set aside", s.SetAside)
	}
	return b.String()
}

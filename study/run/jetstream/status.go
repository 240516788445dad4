package jetstream

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Status is the state of a sweep.
type Status struct {
	Workers     []WorkerStatus // sorted by name
	Queued      int            // runs that are handed over and have not returned
	Done        int            // runs with a result
	Failed      int            // runs with an error
	Checked     int            // runs that were computed twice and compared
	Lost        int            // times that a worker was lost with a run
	Duplicates  int            // duplicate results
	Quarantined int            // workers in quarantine
	Waiting     string         // why all runs wait; "": they do not
	Events      []string       // notices so far
}

// WorkerStatus is the state of one worker of a sweep.
type WorkerStatus struct {
	Name string
	Jobs int
	Hand int // runs in execution
	Done int
	Gone bool
	Bad  string
}

// maxSilence returns the silence after which a worker counts as gone.
func (c *Config) maxSilence() time.Duration { return max(3*helloInterval, c.patience) }

// reportStatus marks silent workers as gone, has checks that no worker can take computed here, and passes the status to
// OnStatus.
func (c *Coordinator) reportStatus() {
	c.lock.Lock()
	for _, m := range c.members {
		if !m.gone && time.Since(m.heard) > c.maxSilence() {
			m.gone = true
			c.noticeWorker("%s does not respond any more", m.name)
		}
	}
	for _, k := range c.verifier.checks {
		if !k.judging && !c.members.hasOther(k.task.class, k.listExcluded()...) {
			c.verifier.recheck(k)
		}
	}
	s := c.currentStatus()
	c.lock.Unlock()
	if c.OnStatus != nil {
		c.OnStatus(s)
	}
}

// currentStatus returns the status. The caller must hold the lock.
func (c *Coordinator) currentStatus() Status {
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

// Status returns the state of the sweep, also after its end.
func (c *Coordinator) Status() Status {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.currentStatus()
}

// countPresent returns the number of present workers.
func (s *Status) countPresent() (workers int) {
	for _, w := range s.Workers {
		if !w.Gone && w.Bad == "" {
			workers++
		}
	}
	return workers
}

// FormatShort returns the status in a few words, for a line that is overwritten.
func (s Status) FormatShort() string {
	if s.Waiting != "" {
		return "waits"
	}
	text := fmt.Sprintf("%d workers", s.countPresent())
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	return text + fmt.Sprintf(", %d queued", s.Queued)
}

// String returns the status in one sentence.
func (s Status) String() string {
	var b strings.Builder
	made := 0
	for _, w := range s.Workers {
		if w.Done > 0 {
			made++
		}
	}
	fmt.Fprintf(&b, "%d runs returned by %d workers, %d with an error; %d repeated and compared",
		s.Done+s.Failed, made, s.Failed, s.Checked)
	if s.Lost > 0 {
		fmt.Fprintf(&b, "; %d lost with a worker", s.Lost)
	}
	if s.Duplicates > 0 {
		fmt.Fprintf(&b, "; %d results arrived twice", s.Duplicates)
	}
	if s.Quarantined > 0 {
		fmt.Fprintf(&b, "; %d workers excluded for wrong results", s.Quarantined)
	}
	return b.String()
}

package simfiles

import (
	"bufio"
	"fmt"
	"io"
)

// Queues are the histograms of queues that the simulator writes at one time. They count from the start.
type Queues struct {
	Time  int64 // ns
	Ports []QueueHistogram
}

// QueueHistogram is the histogram of the queue lengths of one port.
type QueueHistogram struct {
	Switch int
	Port   int      // its interface, from 1: 0 is the loopback
	Counts []uint64 // number of samples with i KB, i·1000 to below (i+1)·1000 bytes, in all queues of the port
}

// AddSample counts a sample of a queue in bytes. A negative one counts as 0.
func (q *QueueHistogram) AddSample(bytes int64) {
	kb := max(bytes, 0) / 1000
	for int64(len(q.Counts)) <= kb {
		q.Counts = append(q.Counts, 0)
	}
	q.Counts[kb]++
}

// ReadQueues reads a qlen.txt: blocks of a line "time: <ns>" and, for each port, a line "switch port count count …".
// Errors are of type *FormatError.
func ReadQueues(r io.Reader, file string) ([]Queues, error) {
	l := newLineReader(r, file)
	var out []Queues
	for l.nextLine() {
		if l.words[0] == "time:" {
			if err := l.checkWordCount("time: ns"); err != nil {
				return nil, err
			}
			t, err := l.readNumber(1, "the time", 0, maxNs)
			if err != nil {
				return nil, err
			}
			out = append(out, Queues{Time: t})
			continue
		}
		if len(out) == 0 {
			return nil, l.errorf(0, "%q; the file begins with time: and nanoseconds", l.words[0])
		}
		if len(l.words) < 2 {
			return nil, l.errorAtEnd("the line ends; it is a switch, a port and counts")
		}
		var q QueueHistogram
		for i, x := range []struct {
			what string
			to   *int
		}{{"the switch", &q.Switch}, {"the port", &q.Port}} {
			v, err := l.readNumber(i, x.what, 0, maxNode)
			if err != nil {
				return nil, err
			}
			*x.to = int(v)
		}
		for i := 2; i < len(l.words); i++ {
			v, err := l.readNumber(i, "a count", 0, maxNs)
			if err != nil {
				return nil, err
			}
			q.Counts = append(q.Counts, uint64(v))
		}
		last := &out[len(out)-1]
		last.Ports = append(last.Ports, q)
	}
	return out, l.scanError()
}

// WriteQueues writes histograms in the format of ReadQueues.
func WriteQueues(w io.Writer, histograms []Queues) error {
	b := bufio.NewWriter(w)
	for _, at := range histograms {
		fmt.Fprintf(b, "time: %d\n", at.Time)
		for _, q := range at.Ports {
			fmt.Fprintf(b, "%d %d", q.Switch, q.Port)
			for _, n := range q.Counts {
				fmt.Fprintf(b, " %d", n)
			}
			b.WriteByte('\n')
		}
	}
	return b.Flush()
}

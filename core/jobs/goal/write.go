package goal

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"weir/core/jobs/job"
	"weir/core/unit"
)

// writeText writes a job as text. GOAL has no times below a nanosecond, which are rounded up, and no lanes, so several
// are written as one. Operations of a listed job keep their labels. It is an error if a job waits for a time, which
// GOAL cannot express.
func writeText(w io.Writer, p job.Program) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "num_ranks %d\n", p.Ranks())
	var deps []job.Dep
	for r := range p.Ranks() {
		fmt.Fprintf(b, "\nrank %d {\n", r)
		name := newNamer(p, r)
		for lane := range p.Lanes(r) {
			for i := range p.Ops(r, lane) {
				at := job.Ref{Lane: int32(lane), Op: int32(i)}
				op := p.Op(r, at)
				if op.Kind == job.Wait {
					return fmt.Errorf("rank %d waits until a multiple of %v, which GOAL cannot express", r, op.Time)
				}
				writeOp(b, name(at), op)
			}
		}
		for lane := range p.Lanes(r) {
			for i := range p.Ops(r, lane) {
				at := job.Ref{Lane: int32(lane), Op: int32(i)}
				deps = p.After(r, at, deps[:0])
				for _, d := range deps {
					if d.Op == job.Earlier {
						for k := range i {
							fmt.Fprintf(b, "%s requires %s\n", name(at), name(job.Ref{Lane: int32(lane), Op: int32(k)}))
						}
						continue
					}
					word := "requires"
					if d.Begun {
						word = "irequires"
					}
					fmt.Fprintf(b, "%s %s %s\n", name(at), word, name(job.Ref{Lane: d.Lane, Op: d.Op}))
				}
			}
		}
		fmt.Fprintln(b, "}")
	}
	return b.Flush()
}

// newNamer returns a function that returns the labels of a rank's operations. These are the job's own labels, or
// generated ones that differ from all of them.
func newNamer(p job.Program, rank int) func(at job.Ref) string {
	own, _ := p.(*job.Listed)
	letter := "o"
	if own != nil {
		taken := map[string]bool{}
		for i := range own.Ops(rank, 0) {
			taken[own.Label(rank, int32(i))] = true
		}
		for again := true; again; {
			again = false
			for i := range own.Ops(rank, 0) {
				if taken[letter+strconv.Itoa(i)] && own.Label(rank, int32(i)) == "" {
					letter, again = letter+"o", true
					break
				}
			}
		}
	}
	return func(at job.Ref) string {
		if own != nil {
			if label := own.Label(rank, at.Op); label != "" {
				return label
			}
		}
		if at.Lane > 0 {
			return fmt.Sprintf("%s%d_%d", letter, at.Lane, at.Op)
		}
		return letter + strconv.Itoa(int(at.Op))
	}
}

// writeOp writes a calc, send or recv with its label as a line of text. Times are rounded up to nanoseconds.
func writeOp(b *bufio.Writer, label string, op job.Op) {
	if op.Kind == job.Calc {
		fmt.Fprintf(b, "%s: calc %d", label, (op.Time+unit.Nanosecond-1)/unit.Nanosecond)
		if op.CPU > 0 {
			fmt.Fprintf(b, " cpu %d", op.CPU)
		}
		fmt.Fprintln(b)
		return
	}
	way := "to"
	if op.Kind == job.Recv {
		way = "from"
	}
	tag := strconv.FormatUint(uint64(op.Tag), 10)
	if op.Tag == job.AnyTag {
		tag = "-1"
	}
	fmt.Fprintf(b, "%s: %v %db %s %d tag %s", label, op.Kind, op.Size, way, op.Peer, tag)
	if op.CPU > 0 {
		fmt.Fprintf(b, " cpu %d", op.CPU)
	}
	if op.NIC > 0 {
		fmt.Fprintf(b, " nic %d", op.NIC)
	}
	fmt.Fprintln(b)
}

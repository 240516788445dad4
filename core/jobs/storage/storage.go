package storage

import (
	"fmt"

	"weir/core/jobs/job"
	"weir/core/unit"
)

// Config is a job of clients, which compute in iterations, and of servers. The clients are the first ranks, the
// servers the last.
type Config struct {
	Clients, Servers int
	Iterations       int
	Compute          unit.Time       // time of an iteration
	Read             unit.Bytes      // bytes that each client reads before an iteration; 0: no reads
	Ahead            bool            // a client reads the next iteration's batch while it computes
	Write            unit.Bytes      // bytes that each client writes in a checkpoint; 0: no checkpoints
	Every            int             // iterations per checkpoint; 0: 1
	Asynchronous     bool            // the next iteration does not wait for the checkpoint
	Stripes          int             // servers that share the data of a client; 0: 1
	Slow             map[int]float64 // by client, factor on its computing time
}

// requestSize is the size of a client's request for data: a command of NVMe over Fabrics.
const requestSize unit.Bytes = 64

// maxServed limits the operations that a server has posted, because it stores them all.
const maxServed = 1 << 24

// Tags of messages between a client and a server.
const (
	asks uint32 = iota
	reads
	writes
)

// Processors of a rank. Computing does not delay reads and writes.
const (
	computeCPU = iota
	transferCPU
)

// Job is a program by formula.
//
// Lane 0 of a client has in each iteration a request to and the data from each of its servers, the computing, and the
// iteration's end. Lane 1 has for each checkpoint its beginning, a message to each server, and its end. A server has
// lane 0 only. In each iteration it has the request from and the data for each of its clients, and the iteration's
// end. After all iterations follow the writes of each client in each checkpoint.
type Job struct {
	Config
	served [][]part // by server
}

// Traits returns the totals of all ranks, the servers and the iterations. Bus is the number of bytes that a client
// sends in a checkpoint.
func (j *Job) Traits() job.Traits {
	return job.Traits{Messages: j.messageCount(), Bytes: j.totalBytes(), Bus: float64(j.Write), Servers: j.Servers,
		Iterations: j.Iterations}
}

// part is one stripe of a client.
type part struct{ client, stripe int }

// New returns the job of a configuration, after filling in the defaults. The error is a *configError, with the
// parameter.
func New(c Config) (*Job, error) {
	c.Every, c.Stripes, c.Iterations = max(c.Every, 1), max(c.Stripes, 1), max(c.Iterations, 1)
	switch {
	case c.Clients < 1 || c.Servers < 1:
		return nil, &configError{"servers", "fewer servers than hosts",
			fmt.Sprintf("%d servers of %d hosts leave no host that reads or writes", c.Servers, c.Clients+c.Servers)}
	case c.Read == 0 && c.Write == 0:
		return nil, &configError{"size", "1 B or more", "nothing is read or written"}
	case c.Stripes > c.Servers:
		return nil, &configError{"stripes", fmt.Sprintf("up to %d", c.Servers),
			fmt.Sprintf("there are %d servers", c.Servers)}
	case c.Read > 0 && c.Read < unit.Bytes(c.Stripes), c.Write > 0 && c.Write < unit.Bytes(c.Stripes):
		return nil, &configError{"size", fmt.Sprintf("%d B or more", c.Stripes), "each stripe needs a byte"}
	}
	j := &Job{Config: c, served: make([][]part, c.Servers)}
	for m := range c.Clients {
		for k := range c.Stripes {
			s := (m + k) % c.Servers
			j.served[s] = append(j.served[s], part{m, k})
		}
	}
	most := 0
	for s := range j.served { // all products of these fit an int
		most = max(most, c.Iterations*j.serverOps(s)+j.checkpointCount()*len(j.served[s]))
	}
	if most > maxServed {
		return nil, &configError{"iterations", "fewer iterations, or more servers",
			fmt.Sprintf("a server has %d operations, and up to %d fit", most, maxServed)}
	}
	return j, nil
}

// configError is an error in a configuration.
type configError struct{ Key, Allowed, Msg string }

func (w *configError) Error() string { return w.Msg }

// checkpointCount returns the number of checkpoints of a client: one after every Every iterations, and 0 without
// writes.
func (j *Job) checkpointCount() int {
	if j.Write == 0 {
		return 0
	}
	return j.Iterations / j.Every
}

// stripesRead returns the number of stripes that a client reads in an iteration.
func (j *Job) stripesRead() int {
	if j.Read == 0 {
		return 0
	}
	return j.Stripes
}

// opsPerIteration returns the number of a client's operations in an iteration, in lane 0.
func (j *Job) opsPerIteration() int { return 2*j.stripesRead() + 2 }

// opsPerCheckpoint returns the number of a client's operations in a checkpoint, in lane 1.
func (j *Job) opsPerCheckpoint() int { return j.Stripes + 2 }

// serverOps returns the number of operations of server s in an iteration.
func (j *Job) serverOps(s int) int {
	if j.Read == 0 {
		return 1
	}
	return 2*len(j.served[s]) + 1
}

// isServer reports whether a rank is a server, which does not compute.
func (j *Job) isServer(rank int) bool { return rank >= j.Clients }

// Ranks returns the number of clients and servers.
func (j *Job) Ranks() int { return j.Clients + j.Servers }

// Lanes returns 1 for iterations and, for clients, 1 more for checkpoints.
func (j *Job) Lanes(rank int) int {
	if j.isServer(rank) || j.checkpointCount() == 0 {
		return 1
	}
	return 2
}

// Ops returns the number of operations of a lane of a client or server.
func (j *Job) Ops(rank, lane int) int {
	switch {
	case j.isServer(rank):
		s := rank - j.Clients
		return j.Iterations*j.serverOps(s) + j.checkpointCount()*len(j.served[s])
	case lane == 0:
		return j.Iterations * j.opsPerIteration()
	}
	return j.checkpointCount() * j.opsPerCheckpoint()
}

// Window returns the number of operations that are posted at a time: a server always serves all of its clients.
func (j *Job) Window(rank, lane int) int {
	switch {
	case j.isServer(rank):
		return 0
	case lane == 0:
		return 2 * j.opsPerIteration()
	}
	return j.opsPerCheckpoint()
}

// stripeSize returns the size of stripe number stripe, from 0, of total bytes. The sizes of all stripes add up to
// total, and differ by at most a byte.
func (j *Job) stripeSize(total unit.Bytes, stripe int) unit.Bytes {
	n := unit.Bytes(j.Stripes)
	return total*unit.Bytes(stripe+1)/n - total*unit.Bytes(stripe)/n
}

// serverOf returns the rank that stores a stripe of a client.
func (j *Job) serverOf(client, stripe int) int32 { return int32(j.Clients + (client+stripe)%j.Servers) }

// Op returns an operation of a client or server, computed from its number in the lane.
func (j *Job) Op(rank int, at job.Ref) job.Op {
	i := int(at.Op)
	switch {
	case j.isServer(rank):
		return j.serverOp(rank-j.Clients, i)
	case at.Lane == 0:
		return j.clientOp(rank, i)
	}
	c, k := i/j.opsPerCheckpoint(), i%j.opsPerCheckpoint()
	switch k {
	case 0:
		return job.Op{Kind: job.Calc, CPU: transferCPU, Mark: job.Opens, Part: int32(c)}
	case j.opsPerCheckpoint() - 1:
		return job.Op{Kind: job.Calc, CPU: transferCPU, Mark: job.Closes, Part: int32(c)}
	}
	return job.Op{Kind: job.Send, CPU: transferCPU, Peer: j.serverOf(rank, k-1), Tag: writes,
		Size: j.stripeSize(j.Write, k-1)}
}

// clientOp returns operation i of a client's lane 0.
func (j *Job) clientOp(rank, i int) job.Op {
	t, k := i/j.opsPerIteration(), i%j.opsPerIteration()
	switch n := 2 * j.stripesRead(); {
	case k < n && k%2 == 0:
		return job.Op{Kind: job.Send, CPU: transferCPU, Peer: j.serverOf(rank, k/2), Tag: asks, Size: requestSize}
	case k < n:
		return job.Op{Kind: job.Recv, CPU: transferCPU, Peer: j.serverOf(rank, k/2), Tag: reads,
			Size: j.stripeSize(j.Read, k/2)}
	case k == n:
		time := j.Compute
		if f, slow := j.Slow[rank]; slow {
			time = unit.Time(float64(time) * f)
		}
		return job.Op{Kind: job.Calc, CPU: computeCPU, Time: time}
	}
	return job.Op{Kind: job.Calc, CPU: computeCPU, Mark: job.Iterates, Part: int32(t)}
}

// serverOp returns operation i of server s.
func (j *Job) serverOp(s, i int) job.Op {
	each := j.serverOps(s)
	if behind := i - j.Iterations*each; behind >= 0 {
		p := j.served[s][behind%len(j.served[s])]
		return job.Op{Kind: job.Recv, CPU: transferCPU, Peer: int32(p.client), Tag: writes,
			Size: j.stripeSize(j.Write, p.stripe)}
	}
	t, k := i/each, i%each
	if k == each-1 {
		return job.Op{Kind: job.Calc, CPU: computeCPU, Mark: job.Iterates, Part: int32(t)}
	}
	p := j.served[s][k/2]
	if k%2 == 0 {
		return job.Op{Kind: job.Recv, CPU: transferCPU, Peer: int32(p.client), Tag: asks, Size: requestSize}
	}
	return job.Op{Kind: job.Send, CPU: transferCPU, Peer: int32(p.client), Tag: reads,
		Size: j.stripeSize(j.Read, p.stripe)}
}

// After appends the operations that an operation depends on to the list to, and returns it.
func (j *Job) After(rank int, at job.Ref, to []job.Dep) []job.Dep {
	i := int(at.Op)
	switch {
	case j.isServer(rank):
		return j.serverAfter(rank-j.Clients, i, to)
	case at.Lane == 0:
		return j.clientAfter(i, to)
	}
	c, k := i/j.opsPerCheckpoint(), i%j.opsPerCheckpoint()
	switch k {
	case 0: // computing of its iteration, and the previous checkpoint
		t := (c+1)*j.Every - 1
		to = append(to, job.Dep{Op: int32(t*j.opsPerIteration() + 2*j.stripesRead())})
		if c > 0 {
			to = append(to, job.Dep{Lane: 1, Op: at.Op - 1})
		}
		return to
	case j.opsPerCheckpoint() - 1:
		return append(to, job.Dep{Lane: 1, Op: job.Earlier})
	}
	return append(to, job.Dep{Lane: 1, Op: int32(c * j.opsPerCheckpoint())})
}

// clientAfter appends the dependencies of operation i of a client's lane 0.
func (j *Job) clientAfter(i int, to []job.Dep) []job.Dep {
	each, n := j.opsPerIteration(), 2*j.stripesRead()
	t, k := i/each, i%each
	first := int32(t * each)
	over := first - 1 // the end of the previous iteration
	switch {
	case k < n && k%2 == 0 && j.Ahead && t > 0: // as soon as that iteration computes, because it has all its data
		return append(to, job.Dep{Op: over - 1, Begun: true})
	case k < n && k%2 == 0 && t > 0:
		return append(to, job.Dep{Op: over})
	case k < n:
		return to
	case k == n:
		for p := range j.stripesRead() {
			to = append(to, job.Dep{Op: first + int32(2*p+1)})
		}
		if t > 0 {
			to = append(to, job.Dep{Op: over})
		}
		return to
	}
	to = append(to, job.Dep{Op: first + int32(n)})
	if !j.Asynchronous && j.Write > 0 && (t+1)%j.Every == 0 {
		c := (t+1)/j.Every - 1
		to = append(to, job.Dep{Lane: 1, Op: int32((c+1)*j.opsPerCheckpoint() - 1)})
	}
	return to
}

// serverAfter appends the dependencies of operation i of server s.
func (j *Job) serverAfter(s, i int, to []job.Dep) []job.Dep {
	each := j.serverOps(s)
	if i >= j.Iterations*each {
		return to
	}
	t, k := i/each, i%each
	switch {
	case k == each-1: // the server's end of the iteration: its requests, and a checkpoint that is waited for
		for p := 1; p < each-1; p += 2 {
			to = append(to, job.Dep{Op: int32(t*each + p)})
		}
		if !j.Asynchronous && j.Write > 0 && (t+1)%j.Every == 0 {
			n := len(j.served[s])
			for p := range n {
				to = append(to, job.Dep{Op: int32(j.Iterations*each + ((t+1)/j.Every-1)*n + p)})
			}
		}
		if t > 0 {
			to = append(to, job.Dep{Op: int32(t*each - 1)})
		}
	case k%2 == 1:
		to = append(to, job.Dep{Op: int32(i - 1)})
	}
	return to
}

// messageCount returns the number of messages of all ranks.
func (j *Job) messageCount() float64 {
	return float64(j.Clients * (2*j.stripesRead()*j.Iterations + j.Stripes*j.checkpointCount()))
}

// totalBytes returns the number of bytes that all ranks send, including the requests of reads.
func (j *Job) totalBytes() float64 {
	asked := float64(int(requestSize) * j.stripesRead())
	read := float64((float64(j.Read) + asked) * float64(j.Iterations))
	written := float64(float64(j.Write) * float64(j.checkpointCount()))
	return float64(j.Clients) * (read + written)
}

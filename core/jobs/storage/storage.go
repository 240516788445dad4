package storage

import (
	"fmt"

	"weir/core/jobs/job"
	"weir/core/unit"
)

// Config is a job of clients, which compute in iterations, and of servers. Ranks are the clients, and then the servers.
type Config struct {
	Clients, Servers int
	Iterations       int
	Compute          unit.Time       // of an iteration
	Read             unit.Bytes      // that each client reads before an iteration; 0: nothing
	Ahead            bool            // the batch of the next iteration is read while one computes
	Write            unit.Bytes      // that each client writes in a checkpoint; 0: there is none
	Every            int             // iterations to a checkpoint; 0: 1
	Beside           bool            // the next iteration does not wait for the checkpoint
	Stripes          int             // servers among which what a client reads or writes is divided; 0: 1
	Slow             map[int]float64 // by client, by how much its computing takes longer
}

// request is what a client sends to have data: as much as a command of NVMe over Fabrics has.
const request unit.Bytes = 64

// mostServed bounds what a server is ready for, all of which it has at hand.
const mostServed = 1 << 24

// Tags of messages between a client and a server.
const (
	asks uint32 = iota
	reads
	writes
)

// Processors of a rank: computing does not hold up what is read and written.
const (
	computes = iota
	talks
)

// Job is a program by formula.
//
// Lane 0 of a client is, iteration after iteration, what it asks for and gets from each of its servers, its computing,
// and the iteration's end; lane 1 is, checkpoint after checkpoint, its beginning, what goes to each server, and its
// end.
// A server has lane 0 alone: of each iteration what each of its clients asks for and is sent, then the end of the
// iteration, and behind all of them what each of its clients writes in each checkpoint.
type Job struct {
	Config
	served [][]part // by server
}

// Traits returns what all send, the servers and the iterations. Bus is what a client sends in a checkpoint.
func (j *Job) Traits() job.Traits {
	return job.Traits{Messages: j.messages(), Bytes: j.bytes(), Bus: float64(j.Write), Servers: j.Servers,
		Iterations: j.Iterations}
}

// part is one stripe of a client.
type part struct{ client, stripe int }

// New makes a job.
func New(c Config) (*Job, error) {
	c.Every, c.Stripes, c.Iterations = max(c.Every, 1), max(c.Stripes, 1), max(c.Iterations, 1)
	switch {
	case c.Clients < 1 || c.Servers < 1:
		return nil, &wrong{"servers", "fewer servers than hosts", fmt.Sprintf("%d servers of %d hosts leave no host that "+
			"reads or writes", c.Servers, c.Clients+c.Servers)}
	case c.Read == 0 && c.Write == 0:
		return nil, &wrong{"size", "1 B or more", "nothing is read or written"}
	case c.Stripes > c.Servers:
		return nil, &wrong{"stripes", fmt.Sprintf("up to %d", c.Servers), fmt.Sprintf("there are %d servers", c.Servers)}
	case c.Read > 0 && c.Read < unit.Bytes(c.Stripes), c.Write > 0 && c.Write < unit.Bytes(c.Stripes):
		return nil, &wrong{"size", fmt.Sprintf("%d B or more", c.Stripes), "each stripe needs a byte"}
	}
	j := &Job{Config: c, served: make([][]part, c.Servers)}
	for m := range c.Clients {
		for k := range c.Stripes {
			s := (m + k) % c.Servers
			j.served[s] = append(j.served[s], part{m, k})
		}
	}
	most := 0
	for s := range j.served { // no product of these is too large for a number
		most = max(most, c.Iterations*j.serves(s)+j.checkpoints()*len(j.served[s]))
	}
	if most > mostServed {
		return nil, &wrong{"iterations", "fewer iterations, or more servers",
			fmt.Sprintf("a server has %d operations, and up to %d fit", most, mostServed)}
	}
	return j, nil
}

// wrong is what is wrong with a configuration.
type wrong struct{ Key, Allowed, Msg string }

func (w *wrong) Error() string { return w.Msg }

// checkpoints is how many there are.
func (j *Job) checkpoints() int {
	if j.Write == 0 {
		return 0
	}
	return j.Iterations / j.Every
}

// parts is how many stripes a client reads in an iteration.
func (j *Job) parts() int {
	if j.Read == 0 {
		return 0
	}
	return j.Stripes
}

// iteration is how many operations of lane 0 a client has in one.
func (j *Job) iteration() int { return 2*j.parts() + 2 }

// checkpoint is how many operations it has in one.
func (j *Job) checkpoint() int { return j.Stripes + 2 }

// serves is how many operations a server has in an iteration.
func (j *Job) serves(s int) int {
	if j.Read == 0 {
		return 1
	}
	return 2*len(j.served[s]) + 1
}

// isServer reports whether a rank is a server, which computes nothing.
func (j *Job) isServer(rank int) bool { return rank >= j.Clients }

// Ranks is the number of clients and servers.
func (j *Job) Ranks() int { return j.Clients + j.Servers }

// Lanes is one for iterations and, of clients, one for checkpoints.
func (j *Job) Lanes(rank int) int {
	if j.isServer(rank) || j.checkpoints() == 0 {
		return 1
	}
	return 2
}

// Ops is how many operations a lane has.
func (j *Job) Ops(rank, lane int) int {
	switch {
	case j.isServer(rank):
		s := rank - j.Clients
		return j.Iterations*j.serves(s) + j.checkpoints()*len(j.served[s])
	case lane == 0:
		return j.Iterations * j.iteration()
	}
	return j.checkpoints() * j.checkpoint()
}

// Window is how many operations are posted at a time: a server is ready for all of its clients at any time.
func (j *Job) Window(rank, lane int) int {
	switch {
	case j.isServer(rank):
		return 0
	case lane == 0:
		return 2 * j.iteration()
	}
	return j.checkpoint()
}

// share is the size of a stripe.
func (j *Job) share(of unit.Bytes, stripe int) unit.Bytes {
	n := unit.Bytes(j.Stripes)
	return of*unit.Bytes(stripe+1)/n - of*unit.Bytes(stripe)/n
}

// server is the rank that has a stripe of a client.
func (j *Job) server(client, stripe int) int32 { return int32(j.Clients + (client+stripe)%j.Servers) }

// Op is what an operation does.
func (j *Job) Op(rank int, at job.Ref) job.Op {
	i := int(at.Op)
	switch {
	case j.isServer(rank):
		return j.serverOp(rank-j.Clients, i)
	case at.Lane == 0:
		return j.clientOp(rank, i)
	}
	c, k := i/j.checkpoint(), i%j.checkpoint()
	switch k {
	case 0:
		return job.Op{Kind: job.Calc, CPU: talks, Mark: job.Opens, Part: int32(c)}
	case j.checkpoint() - 1:
		return job.Op{Kind: job.Calc, CPU: talks, Mark: job.Closes, Part: int32(c)}
	}
	return job.Op{Kind: job.Send, CPU: talks, Peer: j.server(rank, k-1), Tag: writes, Size: j.share(j.Write, k-1)}
}

// clientOp is what an operation of a client's lane 0 does.
func (j *Job) clientOp(rank, i int) job.Op {
	t, k := i/j.iteration(), i%j.iteration()
	switch n := 2 * j.parts(); {
	case k < n && k%2 == 0:
		return job.Op{Kind: job.Send, CPU: talks, Peer: j.server(rank, k/2), Tag: asks, Size: request}
	case k < n:
		return job.Op{Kind: job.Recv, CPU: talks, Peer: j.server(rank, k/2), Tag: reads, Size: j.share(j.Read, k/2)}
	case k == n:
		time := j.Compute
		if f, slow := j.Slow[rank]; slow {
			time = unit.Time(float64(time) * f)
		}
		return job.Op{Kind: job.Calc, CPU: computes, Time: time}
	}
	return job.Op{Kind: job.Calc, CPU: computes, Mark: job.Iterates, Part: int32(t)}
}

// serverOp is what an operation of a server does.
func (j *Job) serverOp(s, i int) job.Op {
	each := j.serves(s)
	if behind := i - j.Iterations*each; behind >= 0 {
		p := j.served[s][behind%len(j.served[s])]
		return job.Op{Kind: job.Recv, CPU: talks, Peer: int32(p.client), Tag: writes, Size: j.share(j.Write, p.stripe)}
	}
	t, k := i/each, i%each
	if k == each-1 {
		return job.Op{Kind: job.Calc, CPU: computes, Mark: job.Iterates, Part: int32(t)}
	}
	p := j.served[s][k/2]
	if k%2 == 0 {
		return job.Op{Kind: job.Recv, CPU: talks, Peer: int32(p.client), Tag: asks, Size: request}
	}
	return job.Op{Kind: job.Send, CPU: talks, Peer: int32(p.client), Tag: reads, Size: j.share(j.Read, p.stripe)}
}

// After appends what an operation comes after.
func (j *Job) After(rank int, at job.Ref, to []job.Dep) []job.Dep {
	i := int(at.Op)
	switch {
	case j.isServer(rank):
		return j.serverAfter(rank-j.Clients, i, to)
	case at.Lane == 0:
		return j.clientAfter(i, to)
	}
	c, k := i/j.checkpoint(), i%j.checkpoint()
	switch k {
	case 0: // computing of its iteration, and the checkpoint before
		t := (c+1)*j.Every - 1
		to = append(to, job.Dep{Op: int32(t*j.iteration() + 2*j.parts())})
		if c > 0 {
			to = append(to, job.Dep{Lane: 1, Op: at.Op - 1})
		}
		return to
	case j.checkpoint() - 1:
		return append(to, job.Dep{Lane: 1, Op: job.Earlier})
	}
	return append(to, job.Dep{Lane: 1, Op: int32(c * j.checkpoint())})
}

// clientAfter appends what an operation of a client's lane 0 comes after.
func (j *Job) clientAfter(i int, to []job.Dep) []job.Dep {
	each, n := j.iteration(), 2*j.parts()
	t, k := i/each, i%each
	first := int32(t * each)
	over := first - 1 // the iteration before
	switch {
	case k < n && k%2 == 0 && j.Ahead && t > 0: // as soon as that computes, which has all that it needs
		return append(to, job.Dep{Op: over - 1, Begun: true})
	case k < n && k%2 == 0 && t > 0:
		return append(to, job.Dep{Op: over})
	case k < n:
		return to
	case k == n:
		for p := range j.parts() {
			to = append(to, job.Dep{Op: first + int32(2*p+1)})
		}
		if t > 0 {
			to = append(to, job.Dep{Op: over})
		}
		return to
	}
	to = append(to, job.Dep{Op: first + int32(n)})
	if !j.Beside && j.Write > 0 && (t+1)%j.Every == 0 {
		c := (t+1)/j.Every - 1
		to = append(to, job.Dep{Lane: 1, Op: int32((c+1)*j.checkpoint() - 1)})
	}
	return to
}

// serverAfter appends what an operation of a server comes after.
func (j *Job) serverAfter(s, i int, to []job.Dep) []job.Dep {
	each := j.serves(s)
	if i >= j.Iterations*each {
		return to
	}
	t, k := i/each, i%each
	switch {
	case k == each-1: // its part of the iteration: what it was asked for, and a checkpoint that is waited for
		for p := 1; p < each-1; p += 2 {
			to = append(to, job.Dep{Op: int32(t*each + p)})
		}
		if !j.Beside && j.Write > 0 && (t+1)%j.Every == 0 {
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

// messages is how many messages all send.
func (j *Job) messages() float64 {
	return float64(j.Clients * (2*j.parts()*j.Iterations + j.Stripes*j.checkpoints()))
}

// bytes is how much they send.
func (j *Job) bytes() float64 {
	asked := float64(int(request) * j.parts())
	read := float64((float64(j.Read) + asked) * float64(j.Iterations))
	written := float64(float64(j.Write) * float64(j.checkpoints()))
	return float64(j.Clients) * (read + written)
}

package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"weir/internal/revision"
	"weir/study/run"
)

// Subjects of a sweep, whose name is a number in hexadecimal: weir.NAME.…
const (
	askSubject      = "weir.ask"      // a worker wants to know which sweeps there are
	announceSubject = "weir.announce" // announcement
)

// sweep names the streams, stores and subjects of one experiment that is being carried out.
type sweep string

func (s sweep) subject(of string) string { return fmt.Sprintf("weir.%s.%s", string(s), of) }
func (s sweep) runs() string             { return "weir-runs-" + string(s) }
func (s sweep) done() string             { return "weir-done-" + string(s) }
func (s sweep) inputs() string           { return "weir-inputs-" + string(s) }
func (s sweep) results() string          { return "weir-results-" + string(s) }

// run is the subject of a run's message: there is one of each at a time.
func (s sweep) run(class int, id, suffix string) string {
	return s.subject(fmt.Sprintf("run.%d.%s%s", class, id, suffix))
}

// check is the subject of a check's message. Checks come before runs: until a worker's first one is done nothing of it
// is kept.
func (s sweep) check(class int, id string) string {
	return s.subject(fmt.Sprintf("check.%d.%s", class, id))
}

// Class is the size class of a run that takes so much memory [bytes]: 2^class MiB are enough.
func Class(memory float64) int {
	mb := uint64(memory/(1<<20)) + 1
	return min(bits.Len64(mb-1), Classes-1)
}

// Classes is how many there are: the last has 128 GiB and more.
const Classes = 18

// fits is the largest class of which a run fits into so much memory [bytes]; −1: none.
func fits(memory float64) int {
	return min(bits.Len64(uint64(memory/(1<<20)))-1, Classes-1)
}

// announcement is what a coordinator tells workers.
type announcement struct {
	Sweep      sweep             `json:"sweep"`
	Experiment string            `json:"experiment"`
	Manifest   string            `json:"manifest"`   // digest of the parcel (run.Pack), in the store of inputs
	Executable string            `json:"executable"` // part of ids
	Revision   revision.Revision `json:"revision"`
	Trace      []string          `json:"trace,omitempty"` // ports of which every run leaves a trace
	Tracing    run.Tracing       `json:"tracing"`         // and what of it
	Classes    []int             `json:"classes"`         // of which there are runs
	Patience   time.Duration     `json:"patience"`        // unheard of for so long, a run goes to another
	Over       bool              `json:"over,omitempty"`
}

// job is a run that is to be carried out.
type job struct {
	Run   string   `json:"run"` // id
	Hops  float64  `json:"hops"`
	Check bool     `json:"check,omitempty"` // it has been carried out, and is to be compared
	Not   []string `json:"not,omitempty"`   // secretly: who is not to do it
}

// secretly is a worker's id as all workers may know it.
func secretly(id string) string { return run.Digest([]byte(id)) }

// hello is what a worker tells of itself, at first and every few seconds. The answer is a welcome.
type hello struct {
	Worker   string            `json:"worker"`   // drawn when it begins
	Name     string            `json:"name"`     // for people: host and process
	Revision revision.Revision `json:"revision"` //
	Memory   float64           `json:"memory"`   // for one run [bytes]
	Jobs     int               `json:"jobs"`
	Bye      bool              `json:"bye,omitempty"`
	Unable   string            `json:"unable,omitempty"` // why it cannot carry out this experiment
	Host     string            `json:"host"`
	Broken   int               `json:"broken,omitempty"` // times that its connection broke
}

// welcome is the answer: Why says why a worker is refused.
type welcome struct {
	Why string `json:"why,omitempty"`
}

// begun says that a worker carries a run out, and how far it is.
type begun struct {
	Worker string  `json:"worker"`
	Name   string  `json:"name"`
	Run    string  `json:"run"`
	Check  bool    `json:"check,omitempty"`
	Back   bool    `json:"back,omitempty"` // it does not any more, and the queue has the run again: nothing was lost
	Hops   uint64  `json:"hops,omitempty"`
	Share  float64 `json:"share,omitempty"`
}

// atOnce is how large a result is that goes with the message [bytes]: what is larger goes through the store of results,
// which takes ten times as many messages of the server.
const atOnce = 256 << 10

// done says what a worker has of a run: a result, or an error.
type done struct {
	Worker string `json:"worker"`
	Name   string `json:"name"`
	Run    string `json:"run"`
	Check  bool   `json:"check,omitempty"`
	Digest string `json:"sha256,omitempty"` // of the result, and the object's name if that is in the store
	Data   []byte `json:"data,omitempty"`   // the result, if it is not
	Error  string `json:"error,omitempty"`
	Limit  bool   `json:"limit,omitempty"` // the error is that a limit of the worker was reached
}

// streams makes what a sweep needs, unless it is there.
func (s sweep) streams(ctx context.Context, js jetstream.JetStream, patience time.Duration,
	storage jetstream.StorageType) error {
	_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: s.runs(),
		Subjects: []string{s.subject("run.>"), s.subject("check.>")}, Retention: jetstream.WorkQueuePolicy,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
		Storage: storage, Description: "runs to be carried out"})
	if err != nil {
		return err
	}
	for class := range Classes {
		for _, kind := range []string{"run", "check"} {
			_, err := js.CreateOrUpdateConsumer(ctx, s.runs(), jetstream.ConsumerConfig{Durable: queueName(kind, class),
				FilterSubject: s.subject(fmt.Sprintf("%s.%d.>", kind, class)), AckPolicy: jetstream.AckExplicitPolicy,
				AckWait: patience, MaxDeliver: -1, MaxAckPending: -1, MemoryStorage: storage == jetstream.MemoryStorage})
			if err != nil {
				return err
			}
		}
	}
	if _, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: s.done(),
		Subjects: []string{s.subject("done.>")}, Retention: jetstream.WorkQueuePolicy, Storage: storage,
		Description: "what workers have"}); err != nil {
		return err
	}
	for _, bucket := range []string{s.inputs(), s.results()} {
		if _, err := js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket,
			Storage: storage}); err != nil {
			return err
		}
	}
	return nil
}

// remove takes all of a sweep away.
func (s sweep) remove(ctx context.Context, js jetstream.JetStream) error {
	var lost error
	for _, name := range []string{s.runs(), s.done(), "OBJ_" + s.inputs(), "OBJ_" + s.results()} {
		if err := js.DeleteStream(ctx, name); err != nil && lost == nil {
			lost = err
		}
	}
	return lost
}

// queueName is the consumer of a size class's runs or checks.
func queueName(kind string, class int) string { return fmt.Sprintf("%s-%d", kind, class) }

// wakeChecks is what wakes workers when there is a check.
const wakeChecks = "check"

// encode is a message. What it has can always be written as JSON.
func encode(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

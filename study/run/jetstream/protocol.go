package jetstream

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/bits"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"weir/internal/revision"
	"weir/study/run"
	"weir/study/run/remote"
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

// class is the size class of a run that takes so much memory [bytes]: 2^class MiB are enough.
func class(memory float64) int {
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
	Manifest   string            `json:"manifest"`   // digest of the parcel (remote.Pack), an input
	Executable string            `json:"executable"` // part of ids
	Revision   revision.Revision `json:"revision"`
	Trace      []string          `json:"trace,omitempty"` // ports of which every run leaves a trace
	Tracing    run.Tracing       `json:"tracing"`         // and what of it
	Classes    []int             `json:"classes"`         // of which there are runs
	Patience   time.Duration     `json:"patience"`        // unheard of for so long, a run goes to another
	Over       bool              `json:"over,omitempty"`
	Number     uint64            `json:"number"` // above the number of each earlier announcement
	Key        string            `json:"key"`    // public nkey of the coordinator
}

// signatureKey begins the last value of an announcement as it is sent: the signature of the object without that value.
const signatureKey = `,"signature":"`

// sign returns an announcement with the signature of a key. The subject does not prove who has sent an announcement: a
// server may send answers there.
func (a *announcement) sign(k nkeys.KeyPair) ([]byte, error) {
	var err error
	if a.Key, err = k.PublicKey(); err != nil {
		return nil, err
	}
	data := encode(a)
	signature, err := k.Sign(data)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(data[:len(data)-1], `%s%s"}`, signatureKey, base64.StdEncoding.EncodeToString(signature)), nil
}

// verified returns an announcement and the public key that its signature is valid for, if there is one.
func verified(data []byte) (a announcement, key string, ok bool) {
	at := bytes.LastIndex(data, []byte(signatureKey))
	text, whole := bytes.CutSuffix(data, []byte(`"}`))
	if at < 0 || !whole || at+len(signatureKey) > len(text) {
		return a, "", false
	}
	signature, err := base64.StdEncoding.DecodeString(string(text[at+len(signatureKey):]))
	body := append(bytes.Clone(data[:at]), '}')
	if err != nil || !decode(body, &a) || !isID(string(a.Sweep)) {
		return announcement{}, "", false
	}
	k, err := nkeys.FromPublicKey(a.Key)
	if err != nil || k.Verify(body, signature) != nil {
		return announcement{}, "", false
	}
	return a, a.Key, true
}

// inputRequest asks for a part of a file of the experiment. The answer is an input.
type inputRequest struct {
	Digest string `json:"sha256"`
	Offset int    `json:"offset"`
}

// input is a part of a file of the experiment, of at most atOnce bytes.
type input struct {
	Size int    `json:"size"` // of the whole file; −1: it is not there
	Data []byte `json:"data"`
}

// job is a run that is to be carried out.
type job struct {
	Run   string   `json:"run"` // id
	Hops  float64  `json:"hops"`
	Check bool     `json:"check,omitempty"` // it has been carried out, and is to be compared
	Not   []string `json:"not,omitempty"`   // secretly: who is not to do it
}

// secretly is a worker's id as all workers may know it.
func secretly(id string) string { return remote.Digest([]byte(id)) }

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

// streams makes what a sweep needs, unless it is there. isOwn says that the server is the coordinator's.
func (s sweep) streams(ctx context.Context, js jetstream.JetStream, patience time.Duration,
	storage jetstream.StorageType, isOwn bool) error {
	limit := func(bytes int64) int64 { // a server of others has limits of theirs
		if !isOwn {
			return -1
		}
		return bytes
	}
	_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: s.runs(),
		Subjects: []string{s.subject("run.>"), s.subject("check.>")}, Retention: jetstream.WorkQueuePolicy,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
		Storage: storage, MaxBytes: limit(largestRuns), Description: "runs to be carried out"})
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
		Subjects: []string{s.subject("done.*")}, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxBytes: limit(largestReports), MaxMsgSize: largestDone, Storage: storage,
		Description: "what workers have"}); err != nil {
		return err
	}
	_, err = js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: s.results(), Storage: storage,
		MaxBytes: limit(largestResults), TTL: longestUnread})
	return err
}

// longestUnread is how long a large result stays in the store without a report of it that the coordinator has dealt
// with. After that its run is made again.
const longestUnread = 6 * time.Hour

// remove takes all of a sweep away.
func (s sweep) remove(ctx context.Context, js jetstream.JetStream) error {
	var lost error
	for _, name := range []string{s.runs(), s.done(), "OBJ_" + s.results()} {
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

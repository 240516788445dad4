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

// Subjects of a sweep are weir.NAME.…, with a hexadecimal number as its name.
const (
	askSubject      = "weir.ask"      // a worker requests announcements of all sweeps
	announceSubject = "weir.announce" // announcement
)

// sweep names the streams, stores and subjects of one experiment in execution.
type sweep string

// subject returns the sweep's subject with the given ending.
func (s sweep) subject(ending string) string { return fmt.Sprintf("weir.%s.%s", string(s), ending) }

// runStream returns the name of the stream of runs and checks.
func (s sweep) runStream() string { return "weir-runs-" + string(s) }

// reportStream returns the name of the stream of reports.
func (s sweep) reportStream() string { return "weir-done-" + string(s) }

// resultStore returns the name of the store of large results.
func (s sweep) resultStore() string { return "weir-results-" + string(s) }

// runSubject returns the subject of a run's message. Its stream keeps one message per subject.
func (s sweep) runSubject(class int, id, suffix string) string {
	return s.subject(fmt.Sprintf("run.%d.%s%s", class, id, suffix))
}

// checkSubject returns the subject of a check's message. Workers take checks before runs, since a worker's results are
// held until its first one is checked.
func (s sweep) checkSubject(class int, id string) string {
	return s.subject(fmt.Sprintf("check.%d.%s", class, id))
}

// sizeClass returns the size class of a run that needs memory bytes: 2^class MiB are enough.
func sizeClass(memory float64) int {
	mb := uint64(memory/(1<<20)) + 1
	return min(bits.Len64(mb-1), sizeClasses-1)
}

// sizeClasses is the number of size classes. The last one is for 128 GiB and more.
const sizeClasses = 18

// maxClassWithin returns the largest size class that fits into memory bytes, or −1.
func maxClassWithin(memory float64) int {
	return min(bits.Len64(uint64(memory/(1<<20)))-1, sizeClasses-1)
}

// announcement is a coordinator's signed message about a sweep to all workers.
type announcement struct {
	Sweep      sweep             `json:"sweep"`
	Experiment string            `json:"experiment"`
	Manifest   string            `json:"manifest"`   // digest of the parcel (remote.PackParcel), an input
	Executable string            `json:"executable"` // part of ids
	Revision   revision.Revision `json:"revision"`
	Trace      []string          `json:"trace,omitempty"` // ports that every run traces
	Tracing    run.Tracing       `json:"tracing"`         // options of the traces
	Classes    []int             `json:"classes"`         // size classes with runs
	Patience   time.Duration     `json:"patience"`        // silence of a worker after which its run goes to another
	Over       bool              `json:"over,omitempty"`
	Number     uint64            `json:"number"` // above the number of each earlier announcement
	Key        string            `json:"key"`    // public nkey of the coordinator
}

// signatureKey precedes the last value of an announcement in transit: the signature of the object without that value.
const signatureKey = `,"signature":"`

// sign sets the announcement's key and returns the encoded announcement with the signature of that key. The subject
// does not prove the sender: a server may send responses there.
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

// verifyAnnouncement decodes an announcement and returns the public key of its valid signature. Without one, ok is
// false.
func verifyAnnouncement(data []byte) (a announcement, key string, ok bool) {
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

// inputRequest requests a part of a file of the experiment. The coordinator responds with an input.
type inputRequest struct {
	Digest string `json:"sha256"`
	Offset int    `json:"offset"`
}

// input is a part of a file of the experiment, of at most maxInline bytes.
type input struct {
	Size int    `json:"size"` // size of the whole file; −1: no such file
	Data []byte `json:"data"`
}

// job is a queued run.
type job struct {
	Run   string   `json:"run"` // id
	Hops  float64  `json:"hops"`
	Check bool     `json:"check,omitempty"` // the run has a result, and this one is compared with it
	Not   []string `json:"not,omitempty"`   // hashes (hashID) of workers that must not take it
}

// hashID returns the form of a worker's id that other workers may see.
func hashID(id string) string { return remote.Digest([]byte(id)) }

// hello is a worker's description of itself, sent at first and every few seconds. The coordinator responds with a
// welcome.
type hello struct {
	Worker   string            `json:"worker"`   // random, drawn at start
	Name     string            `json:"name"`     // for people: host and process
	Revision revision.Revision `json:"revision"` //
	Memory   float64           `json:"memory"`   // for one run [bytes]
	Jobs     int               `json:"jobs"`
	Bye      bool              `json:"bye,omitempty"`
	Unable   string            `json:"unable,omitempty"` // why it cannot load this experiment
	Host     string            `json:"host"`
	Broken   int               `json:"broken,omitempty"` // number of broken connections
}

// welcome is the response to a hello. Why is the reason for a refusal, or "".
type welcome struct {
	Why string `json:"why,omitempty"`
}

// begun reports that a worker executes a run, and its progress.
type begun struct {
	Worker string  `json:"worker"`
	Name   string  `json:"name"`
	Run    string  `json:"run"`
	Check  bool    `json:"check,omitempty"`
	Back   bool    `json:"back,omitempty"` // the worker has returned the run to the queue without loss
	Hops   uint64  `json:"hops,omitempty"`
	Share  float64 `json:"share,omitempty"`
}

// maxInline is the size in bytes up to which a result travels in its report. A larger one goes through the object
// store, which needs ten times as many messages of the server.
const maxInline = 256 << 10

// done is a worker's report of a run: a result or an error.
type done struct {
	Worker string `json:"worker"`
	Name   string `json:"name"`
	Run    string `json:"run"`
	Check  bool   `json:"check,omitempty"`
	Digest string `json:"sha256,omitempty"` // digest of the result, and its name in the object store
	Data   []byte `json:"data,omitempty"`   // the result, if it is not in the object store
	Error  string `json:"error,omitempty"`
	Limit  bool   `json:"limit,omitempty"` // the error is an exceeded limit of the worker
}

// createStreams creates the missing streams, queues and stores of a sweep, and updates existing ones. The argument
// patience is the time for which a worker may keep a run without a message. With isOwn, the server is the
// coordinator's, and the streams get size limits.
func (s sweep) createStreams(ctx context.Context, js jetstream.JetStream, patience time.Duration,
	storage jetstream.StorageType, isOwn bool) error {
	limit := func(bytes int64) int64 { // a foreign server has its own limits
		if !isOwn {
			return -1
		}
		return bytes
	}
	_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: s.runStream(),
		Subjects: []string{s.subject("run.>"), s.subject("check.>")}, Retention: jetstream.WorkQueuePolicy,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
		Storage: storage, MaxBytes: limit(maxRunBytes), Description: "queued runs"})
	if err != nil {
		return err
	}
	for class := range sizeClasses {
		for _, kind := range []string{"run", "check"} {
			_, err := js.CreateOrUpdateConsumer(ctx, s.runStream(), jetstream.ConsumerConfig{Durable: queueName(kind, class),
				FilterSubject: s.subject(fmt.Sprintf("%s.%d.>", kind, class)), AckPolicy: jetstream.AckExplicitPolicy,
				AckWait: patience, MaxDeliver: -1, MaxAckPending: -1, MemoryStorage: storage == jetstream.MemoryStorage})
			if err != nil {
				return err
			}
		}
	}
	if _, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: s.reportStream(),
		Subjects: []string{s.subject("done.*")}, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxBytes: limit(maxReportBytes), MaxMsgSize: maxReport, Storage: storage,
		Description: "runs that workers have"}); err != nil {
		return err
	}
	_, err = js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: s.resultStore(), Storage: storage,
		MaxBytes: limit(maxResultBytes), TTL: maxUnread})
	return err
}

// maxUnread is how long the store keeps a large result without a handled report. After that its run is computed
// again.
const maxUnread = 6 * time.Hour

// removeStreams deletes all streams and stores of a sweep. It returns the first error and continues after it.
func (s sweep) removeStreams(ctx context.Context, js jetstream.JetStream) error {
	var lost error
	for _, name := range []string{s.runStream(), s.reportStream(), "OBJ_" + s.resultStore()} {
		if err := js.DeleteStream(ctx, name); err != nil && lost == nil {
			lost = err
		}
	}
	return lost
}

// queueName returns the name of the consumer of a size class's runs or checks.
func queueName(kind string, class int) string { return fmt.Sprintf("%s-%d", kind, class) }

// wakeChecks is the wake message for checks.
const wakeChecks = "check"

// encode encodes a message as JSON. All message types can be encoded.
func encode(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

package e2e

import (
	"testing"

	"weir/core/dataplane/balance/conga"
	"weir/core/dataplane/balance/hula"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/papers/p4te"
)

// TestKindsOfExtensions checks that every kind of extension has its own number. A second extension with the same
// number would take its place in a packet. Answers to telemetry have separate numbers.
func TestKindsOfExtensions(t *testing.T) {
	const answer = ^telemetry.Asked
	kinds := map[uint8]string{}
	for _, k := range []struct {
		name string
		kind uint8
	}{
		{"p4abc's activity", packet.ExtActivity},
		{"a stack", packet.ExtStack}, {"the answer of a stack", packet.AnswerStack},
		{"hpcc's records", telemetry.Extension}, {"their answer", telemetry.Extension & answer},
		{"pint's code", telemetry.LoadCode}, {"its answer", telemetry.LoadCode & answer},
		{"upon congestion", telemetry.IfCongested}, {"its answer", telemetry.IfCongested & answer},
		{"the relative load", telemetry.RelativeLoad}, {"its answer", telemetry.RelativeLoad & answer},
		{"a receiver's window", transport.Feedback}, {"the number of an adopted one", transport.Adopted},
		{"a receiver's flows", transport.Flows},
		{"authentication", transport.Authentication}, {"reports of udp", udp.Report},
		{"conga", conga.Extension}, {"hula", hula.Extension},
		{"p4te's header", p4te.HeaderKind}, {"p4te's feedback", p4te.FeedbackKind},
	} {
		t.Run(k.name, func(t *testing.T) {
			if other, there := kinds[k.kind]; there {
				t.Errorf("%#x is that of %s, too", k.kind, other)
			}
			kinds[k.kind] = k.name
		})
	}
}

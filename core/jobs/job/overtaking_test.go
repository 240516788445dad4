package job

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/core/unit"
)

// TestOrdering_DeliversInSendOrder checks that for any order of arrival, messages of a route with several are delivered
// in the order in which they were sent, each once. Others are delivered at once.
func TestOrdering_DeliversInSendOrder(t *testing.T) {
	b := NewBuilder("x")
	b.BeginRank()
	for tag, count := range []int{1, 5, 0, 9} {
		for k := range count {
			b.AddOp(Op{Kind: Send, Peer: 1, Tag: uint32(tag), Size: unit.Bytes(k + 1)}, "", 0)
		}
	}
	b.BeginRank()
	for tag, count := range []int{1, 5, 0, 9} {
		for k := range count {
			b.AddOp(Op{Kind: Recv, Peer: 0, Tag: uint32(tag), Size: unit.Bytes(k + 1)}, "", 0)
		}
	}
	l := b.Build()
	if faults := l.Check(); faults != nil || len(l.several) != 2 {
		t.Fatal(faults, l.several)
	}
	for seed := range uint64(200) {
		sender, receiver := newOrdering(l), newOrdering(l)
		var sent []Message
		for i := range l.Ops(0, 0) {
			op := l.Op(0, Ref{Op: int32(i)})
			m := Message{Tag: op.Tag, Size: op.Size}
			sender.numberMessage(&m, op.Peer)
			sent = append(sent, m)
		}
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(sent), func(i, k int) { sent[i], sent[k] = sent[k], sent[i] })
		got := map[uint32][]unit.Bytes{}
		for _, m := range sent {
			receiver.deliverInOrder(m, 1, func(m Message) { got[m.Tag] = append(got[m.Tag], m.Size) })
		}
		if text := fmt.Sprint(got); text != "map[0:[1B] 1:[1B 2B 3B 4B 5B] 3:[1B 2B 3B 4B 5B 6B 7B 8B 9B]]" {
			t.Fatalf("seed %d: %s", seed, text)
		}
		if len(receiver.early) > 0 {
			t.Fatalf("seed %d: %v wait", seed, receiver.early)
		}
	}
}

// TestNoOvertaking checks that ranks have no ordering without two messages on a route.
func TestNoOvertaking(t *testing.T) {
	b := NewBuilder("x")
	b.BeginRank()
	b.AddOp(Op{Kind: Send, Peer: 1, Tag: 1, Size: 1}, "", 0)
	b.BeginRank()
	b.AddOp(Op{Kind: Recv, Peer: 0, Tag: 1, Size: 1}, "", 0)
	if l := b.Build(); l.Check() != nil || newOrdering(l) != nil {
		t.Error("an ordering of single messages")
	}
}

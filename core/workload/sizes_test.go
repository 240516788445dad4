package workload_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"weir/core/jobs/chakra"
	"weir/core/jobs/collective"
	"weir/core/jobs/goal"
	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/jobs/storage"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/testkit"
	"weir/internal/testkit/jobtest"
)

// The places where reference programs define what a size counts.
const (
	ring      = "astra-sim 518bd51, native_collectives/collective_algorithm/Ring.cc"
	halving   = "HalvingDoubling.cc"
	converter = "chakra 21585d8, src/converter/pytorch_node.py:213-232"
)

// counted is a row of the table "What a size means" in docs/sizes.md: which bytes the number S of an operation among n
// hosts counts, and how many all of them send together.
type counted struct {
	format, operation string
	counts, total     string // as the table has them
	source            string
	// bytes is the total. Blocks of n hosts are rounded down to whole bytes.
	bytes func(n, s int64) int64
	// sent runs the operation with an algorithm and counts the bytes of all messages. Flows of jobs and matrices
	// run in weir/study/run, TestSizesReceived.
	sent func(t *testing.T, operation, algorithm string, n, s int64) int64
}

// Totals by formula.
func twice(n, s int64) int64     { return 2 * (n - 1) * s }
func others(n, s int64) int64    { return (n - 1) * s }
func blocks(n, s int64) int64    { return n * (n - 1) * s }
func oneBlock(n, s int64) int64  { return s - s/n }
func message(_, s int64) int64   { return s }
func clients(n, s int64) int64   { return (n - 1) * s }
func requests(n, s int64) int64  { return (n - 1) * (s + 64) }
func byteTree(n, _ int64) int64  { return 2 * (n - 1) * n }
func pipelined(n, s int64) int64 { return 3 * 2 * (n - 1) * s }

// passedOn returns the total of an all-to-all in groups of two hosts. Each host passes half of its blocks on.
func passedOn(n, s int64) int64 { return (2*n - n/groupSize - groupSize) * s }

// The same for a process group.
func twiceInGroup(_, s int64) int64  { return twice(groupSize, s) }
func blocksInGroup(_, s int64) int64 { return blocks(groupSize, s) }

// groupSize is the number of hosts in the groups of the tests.
const groupSize = 2

// The places where Weir's jobs define what their sizes count.
const (
	ownSource     = "Weir: core/jobs/collective/scheme.go, "
	storageSource = "Weir: core/jobs/storage/scheme.go, "
)

func countedSizes() []counted {
	return []counted{
		{"job", collective.AllReduce, "buffer of each host", "2(n−1)·S", ownSource + "allReduce.Params", twice,
			sentByOwn},
		{"job", collective.AllReduceFlows, "buffer of each host", "2(n−1)·S", ownSource + "allReduceFlows.Params", twice,
			sentByFlows},
		{"job", collective.AllGather, "buffer that each host gets: n blocks", "(n−1)·S",
			ownSource + "allGather.Params", others, sentByOwn},
		{"job", collective.ReduceScatter, "buffer of each host: n blocks", "(n−1)·S",
			ownSource + "reduceScatter.Params", others, sentByOwn},
		{"job", collective.AllToAll, "buffer of each host: n blocks", "(n−1)·S", ownSource + "allToAll.Params", others,
			sentByOwn},
		{"job", collective.AllToAll + ", hierarchical", "buffer of each host: n blocks", "(2n − n/k − k)·S, in groups of k",
			ownSource + "allToAll.Params", passedOn, sentByOwn},
		{"job", collective.Broadcast, "buffer of the first host", "(n−1)·S", ownSource + "broadcast.Params", others,
			sentByOwn},
		{"job", collective.Reduce, "buffer of each host", "(n−1)·S", ownSource + "reduce.Params", others,
			sentByOwn},
		{"job", collective.Gather, "buffer that the first host gets: n blocks", "S − S/n",
			ownSource + "gather.Params", oneBlock, sentByOwn},
		{"job", collective.Scatter, "buffer of the first host: n blocks", "S − S/n", ownSource + "scatter.Params", oneBlock,
			sentByOwn},
		{"job", collective.Pipeline, "message from a stage to the next", "(n−1)·S a batch and direction",
			ownSource + "stages.Params",
			pipelined, sentByOwn},
		{"job", "checkpoint", "what each client writes", "S a client", storageSource + "checkpoint.Params", clients,
			sentByStorage},
		{"job", "read", "what each client reads", "S + 64 B of the request a client",
			storageSource + "read.Params", requests, sentByStorage},
		{"chakra", "0 all_reduce", "buffer of each rank", "2(n−1)·S", ring + ":71-73; " + halving + ":55-57; " + converter,
			twice, sentByChakra},
		{"chakra", "0 all_reduce, group of k", "buffer of each rank of the group", "2(k−1)·S", converter, twiceInGroup,
			sentByChakra},
		{"chakra", "1 reduce", "buffer of each rank", "(n−1)·S", converter, others, sentByChakra},
		{"chakra", "2 all_gather", "block of each rank", "n(n−1)·S", ring + ":75-77; " + halving + ":61-64; " + converter,
			blocks, sentByChakra},
		{"chakra", "2 all_gather, group of k", "block of each rank of the group", "k(k−1)·S", converter, blocksInGroup,
			sentByChakra},
		{"chakra", "3 gather", "block of each rank", "(n−1)·S", converter, others, sentByChakra},
		{"chakra", "4 scatter", "buffer of the first rank: n blocks; others may have 0", "S − S/n", converter, oneBlock,
			sentByChakra},
		{"chakra", "5 broadcast", "buffer of the first rank", "(n−1)·S", converter, others, sentByChakra},
		{"chakra", "6 all_to_all", "buffer of each rank: n blocks", "(n−1)·S", ring + ":83-86; " + converter, others,
			sentByChakra},
		{"chakra", "7 reduce_scatter", "buffer of each rank: n blocks", "(n−1)·S", ring + ":79-81; " + halving + ":67-69; " +
			converter, others, sentByChakra},
		{"chakra", "8 reduce_scatter", "buffer of each rank: n blocks", "(n−1)·S", converter, others, sentByChakra},
		{"chakra", "9 barrier", "–", "2(n−1)·n B", "chakra 21585d8, src/generator/generator.py:225", byteTree,
			sentByChakra},
		{"chakra", "send, receive", "the message", "S", "astra-sim 518bd51, astra-sim/workload/Workload.cc:400, :426; " +
			"chakra 21585d8, src/converter/pytorch_converter.py:259", message, sentByChakra},
		{"goal", "send, recv", "the message", "S", "LogGOPSim 76451de, src/LogGOPSim/LogGOPSim.cpp:307-308",
			message, sentByGOAL},
		{"`.cm`", "src->dst", "payload of the flow", "S", "uet-htsim 40ccb05, connection_matrix.cpp:756-758, " +
			"main_uec.cpp:890-891", message, sentByMatrix},
	}
}

// TestCountedSizes_MatchSentBytes checks that each row of the table sends the bytes that it promises, with every
// algorithm.
func TestCountedSizes_MatchSentBytes(t *testing.T) {
	for _, row := range countedSizes() {
		operation := row.operation
		if _, word, is := strings.Cut(operation, " "); is && row.format == "chakra" {
			operation = word
		}
		operation, variant, _ := strings.Cut(operation, ", ")
		algorithms := collective.Algorithms(operation)
		if variant == collective.Hierarchical {
			algorithms = []string{variant}
		} else if operation == collective.AllReduceFlows {
			algorithms = collective.FlowAlgorithms
		} else if operation == collective.AllToAll { // the variant has a row of its own
			algorithms = []string{collective.Direct}
		}
		if len(algorithms) == 0 {
			algorithms = []string{""}
		}
		for _, algorithm := range algorithms {
			for _, n := range []int64{2, 3, 4, 8, 16} {
				if !canBe(row.format, algorithm, variant, n) {
					continue
				}
				for _, s := range []int64{n, 10007, 1 << 20} {
					if variant == collective.Hierarchical {
						s -= s % n // blocks that go together are rounded once
					}
					t.Run(fmt.Sprint(row.format, " ", row.operation, " ", algorithm, " of ", n, " with ", s), func(t *testing.T) {
						if got, want := row.sent(t, row.operation, algorithm, n, s), row.bytes(n, s); got != want {
							t.Errorf("%d B are sent, want %d", got, want)
						}
					})
				}
			}
		}
	}
}

// canBe reports whether n hosts can run an algorithm: halving and doubling is among powers of two, and groups have
// groupSize hosts, or 8 in a trace, and there are several.
func canBe(format, algorithm, variant string, n int64) bool {
	size := int64(groupSize)
	if format == "chakra" && algorithm == collective.Hierarchical {
		if size = 8; variant != "" {
			return false
		}
	}
	switch {
	case algorithm == collective.HalvingDoubling:
		return n&(n-1) == 0
	case algorithm == collective.Hierarchical, variant == "group of k":
		return n > size && n%size == 0
	}
	return true
}

// TestSizesOfASTRASim checks that the examples of ASTRA-sim carry as many bytes as it defines for their sizes. A
// message of Ring.cc is S of an all-gather and S/n of others, and n hosts send n−1 of them, or 2(n−1).
func TestSizesOfASTRASim(t *testing.T) {
	for _, x := range []struct {
		operation string
		n, want   int64
	}{
		{"2 all_gather", 4, 12582912}, {"2 all_gather", 16, 251658240}, {"0 all_reduce", 4, 6291456},
		{"7 reduce_scatter", 4, 3145728}, {"6 all_to_all", 4, 3145728},
	} {
		t.Run(fmt.Sprint(x.operation, " of ", x.n), func(t *testing.T) {
			if got := sentByChakra(t, x.operation, "", x.n, 1<<20); got != x.want {
				t.Errorf("%d B are sent, want %d", got, x.want)
			}
		})
	}
}

// TestSizesInDocs checks that the table in docs/sizes.md has the rows of this test.
func TestSizesInDocs(t *testing.T) {
	const name = "../../docs/sizes.md"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("<!-- sizes -->\n| format | operation | S counts | all send together | source |\n" +
		"|---|---|---|---|---|\n")
	for _, row := range countedSizes() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.format, row.operation, row.counts, row.total, row.source)
	}
	b.WriteString("<!-- end -->")
	block := regexp.MustCompile(`(?s)<!-- sizes -->\n.*?<!-- end -->`)
	if !block.Match(data) {
		t.Fatalf("%s has no table of sizes", name)
	}
	testkit.GoldenFile(t, name, block.ReplaceAllLiteralString(string(data), b.String()))
}

// sentOnIdeal counts the bytes that a job sends on an ideal network.
func sentOnIdeal(t *testing.T, p job.Program, err error) int64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	o := jobtest.RunJob(t, loggops.Model{Costs: job.Costs{Eager: 1 << 50}}, p, job.Watch{})
	sent := unit.Bytes(0)
	for _, r := range o.Ranks {
		sent += r.Sent
	}
	return int64(sent)
}

func sentByOwn(t *testing.T, operation, algorithm string, n, s int64) int64 {
	t.Helper()
	operation, _, _ = strings.Cut(operation, ", ")
	p, err := collective.New(collective.Config{Operation: operation, Algorithm: algorithm, Members: int(n),
		Local: groupSize, Size: unit.Bytes(s), Batches: 3, Forward: unit.Microsecond, Backward: unit.Microsecond})
	return sentOnIdeal(t, p, err)
}

func sentByStorage(t *testing.T, operation, _ string, n, s int64) int64 {
	t.Helper()
	c := storage.Config{Clients: int(n) - 1, Servers: 1, Write: unit.Bytes(s)}
	if operation == "read" {
		c.Read, c.Write = c.Write, 0
	}
	p, err := storage.New(c)
	return sentOnIdeal(t, p, err)
}

func sentByFlows(t *testing.T, _, algorithm string, n, s int64) (sent int64) {
	t.Helper()
	c, err := collective.NewTransfers(algorithm, int(n), unit.Bytes(s))
	if err != nil {
		t.Fatal(err)
	}
	for k := range c.Count() {
		_, _, size := c.Transfer(k)
		sent += int64(size)
	}
	return sent
}

func sentByChakra(t *testing.T, operation, algorithm string, n, s int64) int64 {
	t.Helper()
	number, word, _ := strings.Cut(operation, " ")
	word, _, grouped := strings.Cut(word, ", ")
	var traces [][]byte
	var names []string
	for rank := range n {
		x := chakraNode{kind: 7, attributes: map[string]int64{"comm_size": s}}
		switch kind, err := strconv.ParseInt(number, 10, 64); {
		case err != nil && rank > 1:
			x = chakraNode{kind: 4}
		case err != nil: // send, receive
			x.kind = 5 + uint64(rank)
			x.attributes["comm_src"], x.attributes["comm_dst"] = 0, 1
		default:
			x.attributes["comm_type"] = kind
		}
		switch {
		case grouped && rank < n-groupSize: // the group has the last ranks
			x = chakraNode{kind: 4}
		case grouped:
			x.group = "g"
		}
		if word == "barrier" {
			delete(x.attributes, "comm_size")
		} else if word == collective.Scatter && rank > 0 {
			x.attributes["comm_size"] = 0
		}
		traces, names = append(traces, x.trace()), append(names, fmt.Sprintf("x.%d.et", rank))
	}
	l, err := chakra.ReadTraces(traces, names, chakra.Options{Algorithms: map[string]string{word: algorithm},
		Groups: map[string][]int{"g": {int(n) - 2, int(n) - 1}}})
	return sentOnIdeal(t, l, err)
}

// chakraNode is the only node of a trace.
type chakraNode struct {
	kind       uint64
	group      string // pg_name
	attributes map[string]int64
}

// trace encodes the node as et_def.proto of chakra 21585d8 does, behind metadata.
func (x *chakraNode) trace() []byte {
	field := func(b []byte, number, v uint64) []byte {
		return binary.AppendUvarint(binary.AppendUvarint(b, number<<3), v)
	}
	block := func(b []byte, number uint64, data []byte) []byte {
		return append(binary.AppendUvarint(binary.AppendUvarint(b, number<<3|2), uint64(len(data))), data...)
	}
	node := field(field(nil, 1, 1), 3, x.kind)
	//weir:unordered a reader takes attributes in any order
	for name, v := range x.attributes {
		node = block(node, 10, field(block(nil, 1, []byte(name)), 9, uint64(v)))
	}
	if x.group != "" {
		node = block(node, 10, block(block(nil, 1, []byte("pg_name")), 29, []byte(x.group)))
	}
	metadata := block(nil, 1, []byte("0.0.4"))
	out := append(binary.AppendUvarint(nil, uint64(len(metadata))), metadata...)
	return append(binary.AppendUvarint(out, uint64(len(node))), node...)
}

func sentByGOAL(t *testing.T, _, _ string, n, s int64) int64 {
	t.Helper()
	text := fmt.Sprintf("num_ranks %d\nrank 0 {\nsend %db to 1\n}\nrank 1 {\nrecv %db from 0\n}\n", n, s, s)
	for rank := int64(2); rank < n; rank++ {
		text += fmt.Sprintf("rank %d {\n}\n", rank)
	}
	l, err := goal.ReadJob([]byte(text), "x.goal")
	return sentOnIdeal(t, l, err)
}

func sentByMatrix(t *testing.T, _, _ string, n, s int64) int64 {
	t.Helper()
	text := fmt.Sprintf("Nodes %d\nConnections 1\n0->1 start 0 size %d\n", n, s)
	m, err := workload.ReadHTSimTriggers(strings.NewReader(text), "x.cm", unit.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	return int64(m.Flows[0].Size)
}

package results

import (
	"bytes"
	"math"
	"testing"

	"weir/internal/testkit"
	"weir/study/measure"
)

// FuzzReadRun checks that any content of a run's file is an error, or a run that is the same after writing and reading.
func FuzzReadRun(f *testing.F) {
	r := &Run{ID: "0123456789abcdef", Seed: 7,
		Point:      []measure.Coordinate{{Key: "rate", Text: "1Mbps", Value: 1e6, IsNum: true}},
		End:        End{Reason: "time up", TimeS: 1},
		Drops:      []Count{{"queue full", 3}},
		Unfinished: []UnfinishedFlow{{1, "a", "h0", "h1", 10, 5, "its timer"}},
		Values: measure.Values{Measures: []measure.Measured{{Name: "jain", Value: 0.5}, {Name: "goodput", Unit: "bps",
			Groups: []measure.GroupValue{{Group: "a", Value: 1e6},
				{Group: "b", Value: math.NaN()}}}},
			Series: []measure.Series{{Name: "queue", Unit: "packets", Group: "s->c", StartS: 0, StepS: 0.01,
				Values: []measure.Number{1, measure.Number(math.NaN())}}},
			Bins: []measure.Binned{{Name: "fct", Unit: "s", Traffic: "a", Percentiles: []float64{50},
				Bins: []measure.Bin{{FromBytes: 0, ToBytes: 10, N: 3, Mean: 0.5,
					Percentiles: []measure.Number{measure.Number(math.NaN())}}}}},
			Distributions: []measure.Distribution{{Name: "fct", Unit: "s", Group: "a", Values: []float64{1, 2},
				Counts: []uint64{3, 4}}},
			Flows: &measure.FlowTable{Names: []string{"a"}, Traffic: []int32{0}, Src: []int32{0}, Dst: []int32{0},
				SrcPort: []uint16{1},
				DstPort: []uint16{2}, SizeBytes: []int64{3}, StartS: []measure.Number{0},
				FCTS: []measure.Number{1}, IdealS: []measure.Number{1}, ReceivedBytes: []int64{3}, SentPackets: []int64{1},
				RetransmittedPackets: []int64{0}}}, Events: 9, PacketHops: 8}
	f.Add([]byte(r.EncodeJSON(true)))
	f.Add(appendDigest([]byte("{\n  \"format\": 2,\n  \"id\": \"0123456789abcdef\",\n" +
		"  \"record\": {\"measures\": [{\"Name\": \"x\", \"Groups\": [\"a\"], \"Values\": []}]}\n}\n")))
	f.Add([]byte(`{"format": 3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadRun(data)
		if err != nil { // almost always for its digest
			r, err = ReadRun([]byte(testkit.ReplaceDigest(string(data))))
		}
		if err != nil {
			return
		}
		first := r.EncodeJSON(true)
		again, err := ReadRun(first)
		if err != nil || !bytes.Equal(first, again.EncodeJSON(true)) {
			t.Fatalf("%v\n%s\n%s", err, first, again.EncodeJSON(true))
		}
	})
}

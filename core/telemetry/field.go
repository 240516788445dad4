package telemetry

import "strings"

// Field is what a record, or telemetry without records, says of the path; fields are bits.
type Field uint8

// Fields. Load stands for telemetry without records: of a format it says that there are loads only, of a law
// that it can do with those alone.
const (
	Time     Field = 1 << iota // of the dequeue
	TxBytes                    // sent by the port
	Queue                      // at the port
	Rate                       // of the port
	Sojourn                    // of the packet in the switch
	Identity                   // switch and port
	Load                       // the path's largest load
)

var fieldNames = [...]string{"time stamps", "bytes sent (tx bytes)", "queue lengths", "link rates",
	"times in the switch (sojourn)", "identities of switches and ports", "loads"}

// String lists the fields: "queue lengths, link rates".
func (x Field) String() string {
	var names []string
	for i, name := range fieldNames {
		if x>>i&1 == 1 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Lacks is what of these needs the format does not carry; 0: a law that reads them can run on it. A law
// that can do with loads alone (its needs have the bit Load) lacks nothing of a format that has them.
func (f *Format) Lacks(needs Field) Field {
	have := f.Carries()
	if needs&have&Load != 0 {
		return 0
	}
	return needs &^ Load &^ have
}

package telemetry

import "strings"

// Field is a set of values that telemetry can carry about a path, one bit for each.
type Field uint8

// Fields. Load stands for telemetry without records. A format with Load carries loads only; a law with Load among its
// needs can run on loads alone.
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

// MissingFields returns the needs that the format does not carry; 0: a law with these needs can run on it. Needs that
// include Load are met by every format that carries loads.
func (f *Format) MissingFields(needs Field) Field {
	have := f.CarriedFields()
	if needs&have&Load != 0 {
		return 0
	}
	return needs &^ Load &^ have
}

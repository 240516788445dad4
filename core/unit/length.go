package unit

// Length is how long a queue is or may be: in packets or in bytes. Exactly one
// of the two is set, or none (no bound).
type Length struct {
	Packets int32
	Bytes   Bytes
}

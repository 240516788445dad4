package experiment

// Worlds that an experiment runs in.
const (
	Sim = "sim" // the simulator: the same results again, to the byte
	Lab = "lab" // this machine's kernel and real packets: measurements
)

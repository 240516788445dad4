package run

// LabAgents is what agents of a point's hosts are told.
var LabAgents = labAgents

// A data set of BIDS, a task for each subject, then the page of all of them.
//
//     nextflow run main.nf --input qsiprep --output derivatives --preset maps
//
// Never run by Nextflow here: its scripts are, by bash. Several tasks may write to one folder; what fimbria
// finished it keeps.

params.input = 'qsiprep'
params.output = 'fimbria'
params.preset = 'maps'

process PARTICIPANT {
    tag "sub-${label}"
    cpus 4
    memory '8 GB'

    input:
    val label
    val input
    val output
    val preset

    output:
    val label

    script:
    """
    fimbria bids '${input}' '${output}' participant --participant-label ${label} \\
        --preset ${preset} --nprocs ${task.cpus} --mem ${task.memory.toMega()}M
    """
}

process GROUP {
    input:
    val labels
    val input
    val output

    script:
    """
    fimbria bids '${input}' '${output}' group
    """
}

workflow {
    // Tasks work in folders of their own.
    def input = file(params.input).toAbsolutePath().toString()
    def output = file(params.output).toAbsolutePath().toString()
    subjects = Channel.fromPath("${input}/sub-*", type: 'dir').map { folder -> folder.name.substring(4) }
    done = PARTICIPANT(subjects, input, output, params.preset)
    GROUP(done.collect(), input, output)
}

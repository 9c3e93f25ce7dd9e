process RECONST_FIMBRIA {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "ghcr.io/fimbria/fimbria:0.1.0"

    input:
        tuple val(meta), path(dwi), path(bval), path(bvec), path(mask)

    output:
        tuple val(meta), path("*__*.nii.gz")            , emit: maps
        tuple val(meta), path("*__fa.nii.gz")           , emit: fa, optional: true
        tuple val(meta), path("*__md.nii.gz")           , emit: md, optional: true
        tuple val(meta), path("*__mk.nii.gz")           , emit: mk, optional: true
        tuple val(meta), path("*__fod.nii.gz")          , emit: fod, optional: true
        tuple val(meta), path("*__status.nii.gz")       , emit: status
        tuple val(meta), path("*__run.json")            , emit: record
        path "versions.yml"                             , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def model = task.ext.model ?: 'dti'
    def within = mask ? "--mask $mask" : ''
    def memory = task.memory ? "--memory ${task.memory.toMega()}M" : ''
    """
    fimbria fit $model $dwi --bval $bval --bvec $bvec $within --threads $task.cpus $memory \\
        --output maps $args

    for map in maps/*.nii.gz; do
        name=\$(basename "\$map")
        mv "\$map" "${prefix}__\${name,,}"
    done
    mv maps/run.json ${prefix}__run.json

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        fimbria: \$(fimbria --version | cut -d' ' -f2)
    END_VERSIONS
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    fimbria fit -h > help.txt

    touch ${prefix}__fa.nii.gz
    touch ${prefix}__md.nii.gz
    touch ${prefix}__status.nii.gz
    touch ${prefix}__run.json

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        fimbria: \$(fimbria --version | cut -d' ' -f2)
    END_VERSIONS
    """
}

//! The words for a paper say what was done, and nothing else.

use crate::qsm::with_sphere;
use crate::util::{FIT, Folder};

/// The page of `out`, from the words for a paper to what was done.
fn methods(folder: &Folder, out: &str) -> String {
    folder.done(&format!("report {out} --title it -o {out}.html"));
    let page = std::fs::read_to_string(folder.join(&format!("{out}.html"))).unwrap();
    let from = page.find("<h2>Methods").unwrap();
    page[from..].split("<h2>What was done").next().unwrap().to_owned()
}

#[test]
fn a_map_without_directions_is_not_said_to_be_guided() {
    let folder = with_sphere();
    for method in ["dtv", "dqsm", "tensor"] {
        let line = format!("qsm field.nii --mask mask.nii --method {method}");
        folder.done(&format!("{line} -o {method}"));
        folder.done(&format!("{line} --v1 v1.nii --fa fa.nii -o {method}-guided"));
        let [alone, guided] =
            [method.to_owned(), format!("{method}-guided")].map(|out| methods(&folder, &out));
        for words in ["anisotropy", "FA", "S0", "eigenvector"] {
            assert!(!alone.contains(words), "{method}: {words} in {alone}");
        }
        assert!(alone.contains("without guidance") && guided.contains("eigenvector"), "{guided}");
    }
}

#[test]
fn methods_of_the_fourier_domain_are_named_with_their_strength_and_source() {
    let folder = with_sphere();
    for (method, words, source) in [
        ("tkd", "truncated k-space division (|D| of 0.2 at least)", "Shmueli"),
        ("tikhonov", "Tikhonov regularisation (λ = 0.2)", "Kressler"),
        ("rts", "|D| &gt; 0.2", "Kames"),
    ] {
        let line = "qsm field.nii --mask mask.nii --strength 0.2";
        folder.done(&format!("{line} --method {method} -o {method}"));
        let text = methods(&folder, method);
        assert!(text.contains(words) && text.contains(source), "{method}: {text}");
    }
}

#[test]
fn a_response_that_was_given_is_not_said_to_be_estimated_nor_maxima_that_nobody_sought() {
    let folder = Folder::with_subject();
    let line = FIT.replace("fit dti", "fit fod --order 4 --tissues white");
    folder.done(&format!("{line} -o first"));
    folder.done(&format!("{line} --response first/response.txt -o second"));
    let [first, second] = ["first", "second"].map(|out| methods(&folder, out));
    assert!(first.contains("responses estimated from the data"), "{first}");
    assert!(second.contains("a given response of single fibres"), "{second}");
    assert!(!first.contains("eigenvectors") && !second.contains("eigenvectors"), "{second}");
}

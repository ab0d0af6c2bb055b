// A region as a picture of the output.
#ifndef LEMMA_PET_REGIONS_PICTURE_H_
#define LEMMA_PET_REGIONS_PICTURE_H_

#include <string>

#include "pet/regions/region.h"

namespace lemma::pet {

// The last two dimensions as a grid, '#' where the graphs differ and '.' where they agree, once for
// each grid that occurs, under a line that says at which indices of the other dimensions: "at
// [0:4:2, *]:". Of grids beyond 100 columns or rows the rest is left out, which a line says.
std::string TextPicture(const Region& region);

// The same as an SVG image.
std::string SvgPicture(const Region& region);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_PICTURE_H_
